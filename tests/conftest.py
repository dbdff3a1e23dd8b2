"""What all tests share: which build they run against, and how processes divide them."""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from gateway.server.compiled import COMPILED

SPARK = "tests/cloud_jobs/"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--compiled`: it would be no use to find nothing wrong with the wrong one."""
    parser.addoption("--compiled", action="store_true", help="refuse to run against the source")


def pytest_report_header(config: pytest.Config) -> str:
    """Say which one runs."""
    if config.getoption("--compiled") and not COMPILED:
        raise pytest.UsageError("--compiled, but gateway.core is plain Python: run make test")
    return f"gateway.core: {'compiled' if COMPILED else 'plain Python'}"


class SparkInOneProcess(LoadFileScheduling):  # type: ignore[misc]
    """Each file in one process, for the sake of its fixtures; all that need Spark in the same.

    Spark computes for minutes before it is fast, and each process would do that again. (The marks
    that xdist has for this have no effect with pytest 9.2, which renamed what they write to.)
    """

    def _split_scope(self, nodeid: str) -> str:
        """The name of what stays together."""
        return SPARK if nodeid.startswith(SPARK) else str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Take ours where whole files were asked for."""
    return SparkInOneProcess(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes longest begins first: in the end no process shall be alone with it.

    One process alone (without `-n`) keeps the order of the files.
    """
    if hasattr(config, "workerinput"):
        items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    if item.nodeid.startswith(SPARK):
        return 0
    return 2 if item.get_closest_marker("slow") is None else 1
