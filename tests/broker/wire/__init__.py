import pytest

# This module asserts for other tests, so pytest must rewrite its assertions.
pytest.register_assert_rewrite("tests.broker.wire.vector_cases")
