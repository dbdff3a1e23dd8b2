"""The commands to the SD card's system: files that only an administrator's own password makes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.broker.server.control.test_operating import BEN, ask
from tests.broker.server.control.test_operations import operated
from tests.broker.server.control.test_user_changes import code, done, site_of
from tests.broker.server.control.test_user_list import CARL
from tests.broker.server.reloading_broker import ReloadingBroker, eventually, reloading_broker

JOIN = {"wifi": "join", "wifi_ssid": "shed", "wifi_password": "correct horse"}


def directory_of(broker: ReloadingBroker) -> Path:
    """Create the directory of requests, as the card's system does."""
    directory = broker.read().gateway.control_socket.parent / "card-requests"
    directory.mkdir()
    return directory


async def test_a_change_becomes_one_file_and_the_log_has_it_without_the_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with reloading_broker(tmp_path, **site_of(tmp_path)) as broker:
        requests = directory_of(broker)
        given = {"hostname": "cabinet-8", "wifi_country": "DE", **JOIN, "other": "x"}
        assert await done(tmp_path, "change_network", **given) == {"requested": True}
        (file,) = requests.iterdir()
        assert (
            json.loads(file.read_text()) == {"hostname": "cabinet-8", "wifi_country": "DE"} | JOIN
        )
        assert file.stat().st_mode & 0o777 == 0o640
        assert await code(tmp_path, "change_network", **given) == "busy"
        assert await done(tmp_path, "keep_network") == {"requested": True}
        assert await done(tmp_path, "undo_network") == {"requested": True}
        await eventually(lambda: len(operated(tmp_path)) >= 4)
        events = str(operated(tmp_path))
    lines = "\n".join(caplog.messages)
    for written in (lines, events):
        assert "carl" in written
        assert "cabinet-8" in written
        assert "shed" in written
        assert "correct horse" not in written
        assert "own_password" not in written


async def test_without_the_own_password_the_right_or_a_usable_value_nothing_is_written(
    tmp_path: Path,
) -> None:
    async with reloading_broker(tmp_path, **site_of(tmp_path)) as broker:
        requests = directory_of(broker)
        changes: tuple[tuple[dict[str, Any], str], ...] = (
            ({"own_password": "wrong"}, "wrong_password"),
            ({"own_password": None}, "bad_request"),
            ({"by": "nightly", "program": True}, "forbidden"),
            (BEN, "forbidden"),
            ({"hostname": "a\nb"}, "invalid"),
            ({"hostname": "-h"}, "invalid"),
            ({**JOIN, "wifi_ssid": 'a"\n'}, "invalid"),
            ({"hostname": ""}, "invalid"),
        )
        for change, expected in changes:
            given = {"hostname": "cabinet-8", **change}
            assert await code(tmp_path, "change_network", **given) == expected, change
        assert await code(tmp_path, "keep_network", **BEN) == "forbidden"
        assert list(requests.iterdir()) == []


async def test_a_request_is_written_through_no_link_and_a_stale_part_is_replaced(
    tmp_path: Path,
) -> None:
    async with reloading_broker(tmp_path, **site_of(tmp_path)) as broker:
        requests = directory_of(broker)
        (requests / ".change_network.partial").symlink_to(tmp_path / "elsewhere")
        assert await done(tmp_path, "change_network", hostname="a") == {"requested": True}
        assert not (tmp_path / "elsewhere").exists()
        assert not (requests / "change_network").is_symlink()


async def test_on_another_system_the_refusal_names_the_way(tmp_path: Path) -> None:
    async with reloading_broker(tmp_path, **site_of(tmp_path)):
        answer = await ask(tmp_path, command="keep_network", **CARL)
        assert answer["error"]["code"] == "not_a_card"
        assert "SD card" in answer["error"]["message"]


async def test_an_update_and_a_way_back_are_requested_and_the_log_has_no_query(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    source = "https://example.org/a.raucb?signature=s3cr3t"
    async with reloading_broker(tmp_path, **site_of(tmp_path)) as broker:
        requests = directory_of(broker)
        assert await done(tmp_path, "install_update", source=source) == {"requested": True}
        assert json.loads((requests / "install_update").read_text()) == {"source": source}
        assert await done(tmp_path, "go_back") == {"requested": True}
        for bad in ("--rollback-ends", "http://example.org/a", "/etc/passwd", "https://a/b\nc", 7):
            expected = "bad_request" if bad == 7 else "invalid"
            assert await code(tmp_path, "install_update", source=bad) == expected
        for command in ("install_update", "go_back"):
            (requests / command).unlink()
            for refused, expected in (
                ({"own_password": "wrong"}, "wrong_password"),
                ({"by": "nightly", "program": True}, "forbidden"),
                (BEN, "forbidden"),
            ):
                given: dict[str, Any] = {"source": source, **refused}
                assert await code(tmp_path, command, **given) == expected
        assert list(requests.iterdir()) == []
        await eventually(lambda: len(operated(tmp_path)) >= 4)
        events = str(operated(tmp_path))
    for written in ("\n".join(caplog.messages), events):
        assert "https://example.org/a.raucb" in written
        assert "s3cr3t" not in written
