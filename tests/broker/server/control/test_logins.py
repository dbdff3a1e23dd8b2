"""Passwords of people at the status page, checked through a broker's `status.sock`."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.broker.access.logins.checks import PASSWORD_CHECKS_MAX
from gateway.broker.access.passwords.file import remove_user, set_password
from gateway.broker.server.control.logins import PAGE_CHECKS_MAX
from tests.broker.server.ruled_broker import PASSWORD, RuledBroker, eventually, running, slow_down

ADDRESS = "192.0.2.7:40000"


@asynccontextmanager
async def asking(
    directory: Path,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_unix_connection(directory / "data" / "status.sock")
    try:
        yield reader, writer
    finally:
        writer.close()


async def ask(directory: Path, command: str, **arguments: Any) -> dict[str, Any]:
    """Send one request on a connection of its own; return the whole response."""
    async with asking(directory) as (reader, writer):
        writer.write(json.dumps({"command": command, **arguments}).encode() + b"\n")
        answer: dict[str, Any] = json.loads(await reader.readline())
        return answer


async def authenticated(directory: Path, username: str, password: str) -> dict[str, Any]:
    answer = await ask(
        directory, "authenticate", username=username, password=password, address=ADDRESS
    )
    assert answer["ok"], answer
    result: dict[str, Any] = answer["result"]
    return result


async def version(directory: Path, username: str, **where: str) -> str | None:
    answer = await ask(directory, "user", username=username, **where)
    found: str | None = answer["result"]["version"]
    return found


async def test_one_list_of_users_counts_for_clients_and_people(tmp_path: Path) -> None:
    async with running(tmp_path):
        right = await authenticated(tmp_path, "anna", PASSWORD)
        assert right == {
            "ok": True,
            "username": "anna",
            "source": "password_file",
            "version": await version(tmp_path, "anna"),
            "groups": [],
            "seconds": None,
        }
        refused = {"ok": False, "username": None, "version": None}
        for username, password in (("anna", "wrong"), ("nobody", PASSWORD), ("", ""), ("anna", "")):
            assert await authenticated(tmp_path, username, password) == refused


async def test_the_version_of_a_user_changes_with_the_password_alone(tmp_path: Path) -> None:
    async with running(tmp_path) as broker:
        before = await version(tmp_path, "anna")
        assert before is not None
        assert before != await version(tmp_path, "ben")
        assert await version(tmp_path, "nobody") is None
        assert await version(tmp_path, "anna", source="password_file", address=ADDRESS) == before
        assert await version(tmp_path, "anna", source="mysql") is None, "a source that is none"
        set_password(broker.users, "ben", b"other")
        broker.running.reloading.reload()
        assert await version(tmp_path, "anna") == before
        set_password(broker.users, "anna", PASSWORD.encode(), scram_iterations=4_096)
        broker.running.reloading.reload()
        changed = await version(tmp_path, "anna")
        assert changed not in (None, before), "the same password with another salt is a change"
        remove_user(broker.users, "anna")
        broker.running.reloading.reload()
        assert await version(tmp_path, "anna") is None


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("authenticate", {"username": "anna", "password": 7, "address": ADDRESS}),
        ("authenticate", {"username": "anna", "password": "x" * 65_536, "address": ADDRESS}),
        ("authenticate", {"username": "a" * 1_025, "password": "x", "address": ADDRESS}),
        ("authenticate", {"username": "anna", "password": "x", "address": "1" * 129}),
        ("authenticate", {"username": "anna", "password": "\ud800", "address": ADDRESS}),
        ("authenticate", {"username": "anna", "password": "x"}),
        ("user", {}),
        ("user", {"username": ["anna"]}),
        ("user", {"username": "anna", "source": "x" * 65}),
        ("user", {"username": "anna", "address": 7}),
    ],
)
async def test_what_cannot_be_asked_is_refused_without_the_password_in_the_answer(
    tmp_path: Path, command: str, arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with running(tmp_path):
        answer = await ask(tmp_path, command, **arguments)
    assert answer["error"]["code"] == "bad_request"
    assert "xx" not in json.dumps(answer)
    assert "xxx" not in caplog.text


async def test_a_password_is_in_no_line_of_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with running(tmp_path):
        await authenticated(tmp_path, "anna", "a-wrong-password")
        await authenticated(tmp_path, "anna", PASSWORD)
    assert "a-wrong-password" not in caplog.text
    assert PASSWORD not in caplog.text


async def has_waiting(broker: RuledBroker, count: int) -> None:
    """Wait until this number of passwords is being checked or queued."""
    await eventually(lambda: len(broker.running.control.logins._checks) == count)


async def test_while_passwords_wait_other_questions_are_answered_and_more_logins_are_refused(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as broker:
        slow_down(broker)
        waiting = [
            asyncio.create_task(authenticated(tmp_path, "slow", PASSWORD))
            for _ in range(PAGE_CHECKS_MAX)
        ]
        await has_waiting(broker, PAGE_CHECKS_MAX)
        one_more = await ask(
            tmp_path, "authenticate", username="slow", password=PASSWORD, address=ADDRESS
        )
        assert one_more["error"]["code"] == "busy"
        assert (await ask(tmp_path, "status"))["ok"]
        assert not any(each.done() for each in waiting[PASSWORD_CHECKS_MAX:])
        assert (await waiting[0])["ok"]
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_login_that_waits_does_not_hold_up_the_broker_s_end(tmp_path: Path) -> None:
    async with running(tmp_path) as broker:
        slow_down(broker)
        reader, writer = await asyncio.open_unix_connection(tmp_path / "data" / "status.sock")
        request = {"username": "slow", "password": PASSWORD, "address": ADDRESS}
        writer.write(json.dumps({"command": "authenticate", **request}).encode() + b"\n")
        await has_waiting(broker, 1)
    assert await reader.read() == b""
    writer.close()
