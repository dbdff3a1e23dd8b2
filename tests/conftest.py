"""Options, fixtures and the choice of tests for all rooms."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import hypothesis
import pytest

# Tests replace functions of the core and test its source code, so they never use a build of it.
# (`make test-compiled` uses a separate build, which is first in PYTHONPATH.)
os.environ["ONCEGATE_COMPILE"] = "0"

from gateway.broker.server.host.compiled import COMPILED

if TYPE_CHECKING:
    from tests.bridge.terminal import Terminal
    from tests.peers.identity_provider import IdentityProvider
    from tests.peers.mariadb import MariaDB

TESTS = Path(__file__).resolve().parent
# Long tests of which CI runs a quarter each day: each test in one of DAYS days.
DAYS = 4
IN_TURN = (
    "api/pages",
    "api/rest",
    "bridge/protocols/test_damaged_inputs.py",
    "bridge/test_kill.py",
    "broker/core/rules/subscribe/test_retained_crowd.py",
    "broker/core/sessions/test_session_identifiers.py",
    "broker/server/host/test_garbage.py",
    "broker/store/golden",
    "broker/store/test_many_cuts.py",
    "broker/store/test_recovery_properties.py",
    "broker/store/test_wild_lives.py",
    "broker/wire/test_round_trip.py",
    "cloud_jobs/gold/test_held_tables.py",
    "cloud_jobs/gold/test_steps.py",
    "cloud_jobs/test_crash.py",
    "contract/mqtt_client",
    "documents/test_tutorials.py",
    "instruments",
    "system/test_add_a_sensor.py",
    "system/test_secrets.py",
    "system/test_tenants.py",
    "tools/audit/test_real_run.py",
    "tools/bench",
)
# Whole files that run in one of DAYS days, because their tests share what takes long.
IN_TURN_AS_FILES = (
    "cloud_jobs/ingest/test_withdrawal.py",
    "cloud_jobs/test_chain.py",
    "cloud_jobs/test_oncegate_job.py",
    "documents/test_site.py",
    "cloud_jobs/test_run_with_gold.py",
    "system/test_whole_gateway.py",
    "system/test_cleared_alarms.py",
    "broker/test_compiled_core.py",
)
# The duration of an example depends on the tests that run at the same time.
hypothesis.settings.register_profile("any time", deadline=None)
hypothesis.settings.load_profile("any time")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that choose tests, and `--compiled`, which refuses to run on the source."""
    parser.addoption(
        "--compiled",
        action="store_true",
        help="refuse to run against the source; with --day, run half of the tests each day",
    )
    parser.addoption(
        "--sample",
        type=int,
        default=1,
        help="of tests on asyncio's own loop that run on uvloop too, one in SAMPLE",
    )
    parser.addoption("--one-in", type=int, default=1, help="of all tests, one in ONE_IN")
    parser.addoption(
        "--day", type=int, help=f"of what runs in turn, the tests of DAY modulo {DAYS}"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose tests by a hash of their names, so that every process chooses the same ones."""
    sample: int = config.getoption("--sample")
    one_in: int = config.getoption("--one-in")
    day: int | None = config.getoption("--day")
    is_compiled: bool = config.getoption("--compiled")
    left_out = {
        item
        for item in items
        if not is_in(item, one_in)
        or (runs_on_uvloop_too(item) and not is_in(item, sample))
        or not (day is None or is_of(item, day))
        # The tests of the source run every day.
        or not (day is None or not is_compiled or part_of(item, 2) == day % 2)
    }
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    if "PYTEST_XDIST_WORKER" in os.environ:
        put_slow_files_first(items)


def put_slow_files_first(items: list[pytest.Item]) -> None:
    """Order the files so that slow ones start first and no worker is last alone with a long one.

    (pytest itself orders by folders, whatever the order on its command line.)
    """
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow)


def runs_on_uvloop_too(item: pytest.Item) -> bool:
    """Return True if a test runs on uvloop as well."""
    return item.name.partition("[")[2].startswith("asyncio")


def is_in(item: pytest.Item, sample: int) -> bool:
    """Return True if a test belongs to the sample of one test in `sample`."""
    return crc32(item.nodeid.encode()) % sample == 0


def is_of(item: pytest.Item, day: int) -> bool:
    """Return True if a test runs every day, or on this day."""
    path = item.path.relative_to(TESTS)
    if str(path) in IN_TURN_AS_FILES:
        return IN_TURN_AS_FILES.index(str(path)) % DAYS == day % DAYS
    if not any(map(path.is_relative_to, IN_TURN)):
        return True
    return part_of(item, DAYS) == day % DAYS


def part_of(item: pytest.Item, parts: int) -> int:
    """Return the part of the tests to which a test belongs, from 0 to `parts` - 1."""
    # These bits differ from those that choose a sample: otherwise some days would have no test.
    return (crc32(item.nodeid.encode()) >> 16) % parts


def pytest_report_header(config: pytest.Config) -> str:
    """Refuse to run against the source with `--compiled`; report which core is tested."""
    if config.getoption("--compiled") and not COMPILED:
        raise pytest.UsageError(
            "--compiled, but gateway.broker.core is plain Python: run make test"
        )
    return f"gateway.broker.core: {'compiled' if COMPILED else 'plain Python'}"


@pytest.fixture(scope="session")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[MariaDB]":
    """Return one database server for all tests, because its start takes some seconds."""
    from tests.peers.mariadb import MariaDB  # noqa: PLC0415 - most tests do without

    made = MariaDB(tmp_path_factory.mktemp("mariadb"))
    yield made
    made.stop()


@pytest.fixture
def provider() -> "Iterator[IdentityProvider]":
    """Yield an identity provider on loopback, over plain HTTP."""
    from tests.peers.identity_provider import IdentityProvider  # noqa: PLC0415 - likewise

    made = IdentityProvider()
    yield made
    made.stop()


@pytest.fixture
def terminal(tmp_path: Path) -> "Iterator[Terminal]":
    """Yield a serial port with a sensor at its other end."""
    from tests.bridge.terminal import Terminal  # noqa: PLC0415 - most tests do without

    made = Terminal(tmp_path / "sensor")
    yield made
    made.unplug()
