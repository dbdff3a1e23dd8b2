import pytest

# Its assertions are what the tests of the decoders assert.
pytest.register_assert_rewrite("tests.wire.vector_cases")
