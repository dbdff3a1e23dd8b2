import pytest

# The module asserts for the tests of the decoders.
pytest.register_assert_rewrite("tests.broker.wire.vector_cases")
