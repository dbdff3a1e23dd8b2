"""Detection of the build of the core: compiled or interpreted."""

from gateway.broker.core.sessions import session
from gateway.broker.server.host.compiled import COMPILED


def test_the_build_is_identified_by_the_file_that_the_core_was_imported_from() -> None:
    assert session.__file__.endswith(".py") is not COMPILED
