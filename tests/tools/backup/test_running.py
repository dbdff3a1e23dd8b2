"""A running program in the data directory prevents a restore."""

from pathlib import Path

import pytest

from gateway.process.files.lock import ProcessLock
from gateway.tools.backup.running import StillRunning, all_stopped


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("broker.lock", "the broker"),
        ("log/lock", "the uploader"),
        ("bridge/bridge.lock", "the bridge"),
        ("tenants/acme/broker.lock", "the broker"),
        ("tenants/acme/uplink/uplink.lock", "the uplink"),
    ],
)
def test_a_program_that_runs_is_named_with_what_stops_it(
    tmp_path: Path, name: str, program: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with ProcessLock(path) as lock:
        lock.take()
        expected = rf"{program} works in .*stop the gateway first"
        with pytest.raises(StillRunning, match=expected), all_stopped(tmp_path):
            raise AssertionError("it runs")
    with all_stopped(tmp_path), ProcessLock(path) as lock, pytest.raises(RuntimeError):
        lock.take()


def test_a_directory_that_does_not_exist_has_no_programs(tmp_path: Path) -> None:
    with all_stopped(tmp_path / "none"):
        assert not (tmp_path / "none").exists()
