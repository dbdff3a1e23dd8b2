"""The commands `restart` and `reboot`: files for systemd's path units."""

from pathlib import Path

from tests.broker.server.control.test_operating import BEN, PAGE, ask, written
from tests.broker.server.control.test_user_list import CARL
from tests.broker.server.reloading_broker import ReloadingBroker, reloading_broker


def directory_of(broker: ReloadingBroker) -> Path:
    """Create the directory of requests, as the package does."""
    directory = broker.read().gateway.control_socket.parent / "requests"
    directory.mkdir()
    return directory


async def test_an_administrator_s_request_becomes_one_file_named_as_the_command(
    tmp_path: Path,
) -> None:
    async with reloading_broker(tmp_path, **written(tmp_path, **PAGE)) as broker:
        requests = directory_of(broker)
        for command in ("restart", "restart", "reboot"):
            answer = await ask(tmp_path, command=command, **CARL)
            assert answer == {"ok": True, "result": {"requested": True}}
        assert sorted(each.name for each in requests.iterdir()) == ["reboot", "restart"]
        assert (requests / "reboot").stat().st_mode & 0o777 == 0o600
        assert broker.running.control.operating.counted == {"restart": 2, "reboot": 1}


async def test_operators_restart_nothing(tmp_path: Path) -> None:
    async with reloading_broker(tmp_path, **written(tmp_path, **PAGE)) as broker:
        requests = directory_of(broker)
        answer = await ask(tmp_path, command="reboot", **BEN)
        assert answer["error"]["code"] == "forbidden"
        assert list(requests.iterdir()) == []


async def test_where_no_systemd_waits_for_requests_the_refusal_names_the_way(
    tmp_path: Path,
) -> None:
    async with reloading_broker(tmp_path, **written(tmp_path, **PAGE)):
        answer = await ask(tmp_path, command="restart", **CARL)
        assert answer["error"]["code"] == "unavailable"
        assert answer["error"]["message"].endswith("restart this gateway where it was started")


async def test_a_request_is_written_through_no_link(tmp_path: Path) -> None:
    async with reloading_broker(tmp_path, **written(tmp_path, **PAGE)) as broker:
        (directory_of(broker) / "restart").symlink_to(tmp_path / "elsewhere")
        assert (await ask(tmp_path, command="restart", **CARL))["ok"]
        assert not (tmp_path / "elsewhere").exists()
