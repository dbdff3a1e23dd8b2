"""Administrators change users at the page: their own password is required, and never logged."""

from pathlib import Path
from typing import Any

import pytest

from gateway.broker.access.passwords.file import PasswordFile, set_password
from gateway.broker.server.control import own_password
from tests.broker.server.control.test_operating import BEN, PAGE, ask, written
from tests.broker.server.control.test_user_list import CARL
from tests.broker.server.reloading_broker import reloading_broker

OWN = {"own_password": "secret"}


async def done(directory: Path, command: str, **arguments: Any) -> Any:
    answer = await ask(directory, **{"command": command, **CARL, **OWN, **arguments})
    assert answer["ok"], answer
    return answer["result"]


async def code(directory: Path, command: str, **arguments: Any) -> str:
    answer = await ask(directory, **{"command": command, **CARL, **OWN, **arguments})
    assert not answer["ok"]
    return str(answer["error"]["code"])


def site_of(directory: Path) -> dict[str, Any]:
    keys = written(directory, **PAGE, tokens_file=directory / "tokens")
    set_password(directory / "passwords", "carl", b"secret", scram_iterations=4_096)
    secret = directory / "bridge-password"
    secret.write_text("x")
    secret.chmod(0o600)
    return keys | {"bridge__username": "bridge", "bridge__password_file": secret}


async def test_a_user_is_added_changed_and_removed_and_the_log_has_no_password(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with reloading_broker(tmp_path, **site_of(tmp_path)) as broker:
        port = broker.shown[0]["port"]
        dora = {"user": "dora", "password": "secret"}
        assert await done(tmp_path, "set_password", **dora) == {"added": True}
        await broker.client(port, "lamp", user="dora")
        ben = {"user": "ben", "password": "another one"}
        assert await done(tmp_path, "set_password", **ben) == {"added": False}
        file = PasswordFile.load(tmp_path / "passwords")
        assert file.verify("ben", b"another one")
        assert file.scram_keys_of("ben") is not None, "it keeps its kind"
        assert await done(tmp_path, "remove_user", user="dora") == {"removed": True}
        assert "dora" not in PasswordFile.load(tmp_path / "passwords")
        await broker.client(port, "lamp", user="dora", reason_code=0x86)
        listed = broker.running.control._commands["events"]
        events = str(await listed({"limit": 100}))  # type: ignore[misc]
        assert broker.running.control.operating.counted == {"set_password": 2, "remove_user": 1}
    lines = "\n".join(caplog.messages)
    assert "'set_password'('user'='dora'): done" in lines
    for text in (lines, events):
        assert "another one" not in text
        assert "own_password" not in text


async def test_without_the_own_password_or_the_right_nothing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reloading_broker(tmp_path, **site_of(tmp_path)):
        before = (tmp_path / "passwords").read_bytes()
        dora: dict[str, Any] = {"user": "dora", "password": "secret"}
        for change, expected in (
            ({"own_password": "wrong"}, "wrong_password"),
            ({"own_password": 7}, "bad_request"),
            ({"user": "a:b"}, "invalid"),
            ({"user": "\ud800"}, "invalid"),
            ({"password": ""}, "invalid"),
            ({"password": "\ud800"}, "invalid"),
            ({"user": "bridge"}, "impossible"),
            ({"by": "nightly", "program": True}, "forbidden"),
            (BEN, "forbidden"),
        ):
            given = {**dora, **change}
            assert await code(tmp_path, "set_password", **given) == expected, change
        assert await code(tmp_path, "remove_user", user="carl") == "impossible"
        assert await code(tmp_path, "remove_user", user="nobody-here") == "not_found"
        assert (tmp_path / "passwords").read_bytes() == before
        monkeypatch.setattr(own_password, "CHANGES_WAITING_MAX", 0)
        assert await code(tmp_path, "set_password", **dora) == "busy"


async def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "users").mkdir()
    keys = site_of(tmp_path)
    file = (tmp_path / "passwords").rename(tmp_path / "users" / "passwords")
    async with reloading_broker(tmp_path, **keys | {"access__password_file": file}):
        (tmp_path / "users").rename(tmp_path / "gone")
        request = {"command": "set_password", "user": "dora", "password": "x", **CARL, **OWN}
        answer = await ask(tmp_path, **request)
        assert answer["error"]["code"] == "read_only"
        assert str(file) in answer["error"]["message"]
        (tmp_path / "gone").rename(tmp_path / "users")
