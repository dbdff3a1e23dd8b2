import pytest

# Its assertions are what the tests of the decoders assert.
pytest.register_assert_rewrite("tests.broker.wire.vector_cases")
