"""Administrators change tokens of programs at the page: with their own password."""

from pathlib import Path
from typing import Any

import pytest

from gateway.broker.server.control import own_password
from gateway.process.files.token_file import digest_of, read_tokens
from tests.broker.server.control.test_operating import BEN, ask
from tests.broker.server.control.test_user_changes import OWN, code, done, site_of
from tests.broker.server.control.test_user_list import CARL
from tests.broker.server.reloading_broker import reloading_broker

ADDED = {"name": "dashboard", "token_role": "operator"}


async def test_a_token_is_added_and_removed_and_the_log_does_not_have_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with reloading_broker(tmp_path, **site_of(tmp_path)) as broker:
        text = (await done(tmp_path, "add_token", **ADDED))["token"]
        await done(tmp_path, "add_token", **ADDED | {"name": "other"})
        first, _ = read_tokens(tmp_path / "tokens")
        assert (first.name, first.role, first.digest) == ("dashboard", "operator", digest_of(text))
        assert await done(tmp_path, "remove_token", name="dashboard") == {"removed": True}
        assert [each.name for each in read_tokens(tmp_path / "tokens")] == ["other"]
        listed = broker.running.control._commands["events"]
        events = str(await listed({"limit": 100}))  # type: ignore[misc]
        assert broker.running.control.operating.counted == {"add_token": 2, "remove_token": 1}
    lines = "\n".join(caplog.messages)
    assert "'add_token'('name'='dashboard', 'token_role'='operator'): done" in lines
    for written in (lines, events):
        assert text not in written
        assert "own_password" not in written


async def test_without_the_own_password_or_the_right_no_token_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reloading_broker(tmp_path, **site_of(tmp_path)):
        await done(tmp_path, "add_token", **ADDED | {"name": "taken"})
        before = (tmp_path / "tokens").read_bytes()
        for change, expected in (
            ({"own_password": "wrong"}, "wrong_password"),
            ({"own_password": None}, "bad_request"),
            ({"name": "a:b"}, "invalid"),
            ({"name": ""}, "invalid"),
            ({"name": 7}, "bad_request"),
            ({"name": "taken"}, "conflict"),
            ({"token_role": "king"}, "invalid"),
            ({"by": "nightly", "program": True}, "forbidden"),
            (BEN, "forbidden"),
        ):
            given: dict[str, Any] = {**ADDED, **change}
            assert await code(tmp_path, "add_token", **given) == expected, change
        assert await code(tmp_path, "remove_token", name="none") == "not_found"
        assert (tmp_path / "tokens").read_bytes() == before
        monkeypatch.setattr(own_password, "CHANGES_WAITING_MAX", 0)
        assert await code(tmp_path, "add_token", **ADDED) == "busy"


async def test_a_file_that_cannot_be_written_or_is_not_configured_is_named(tmp_path: Path) -> None:
    keys = site_of(tmp_path) | {"api__tokens_file": tmp_path / "none" / "tokens"}
    async with reloading_broker(tmp_path, **keys):
        answer = await ask(tmp_path, **{"command": "add_token", **ADDED, **CARL, **OWN})
        assert answer["error"]["code"] == "read_only"
        assert str(tmp_path / "none" / "tokens") in answer["error"]["message"]
    async with reloading_broker(tmp_path, **keys | {"api__tokens_file": None}):
        answer = await ask(tmp_path, **{"command": "add_token", **ADDED, **CARL, **OWN})
        assert answer["error"]["code"] == "read_only"
        assert "[api] tokens_file" in answer["error"]["message"]
