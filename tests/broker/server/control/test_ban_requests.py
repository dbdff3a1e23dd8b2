"""Bans at the control sockets: add, list in pages, lift, and refused requests."""

import asyncio
import json
from typing import Any

import pytest

from gateway.broker.access.bans_file import REASON_CHARACTERS_MAX, VALUE_BYTES_MAX
from gateway.broker.server.control import ban_requests
from gateway.process.control.messages import LINE_BYTES_MAX
from tests.broker.server.broker import Broker, log_in
from tests.broker.server.conftest import Start


async def ask(
    broker: Broker, command: str, socket: str = "control.sock", **arguments: Any
) -> dict[str, Any]:
    data_dir = broker.running.reloading.configuration.gateway.data_dir
    reader, writer = await asyncio.open_unix_connection(data_dir / socket, limit=LINE_BYTES_MAX)
    try:
        writer.write(json.dumps({"command": command, **arguments}).encode() + b"\n")
        answer: dict[str, Any] = json.loads(await reader.readline())
        return answer
    finally:
        writer.close()


async def result(broker: Broker, command: str, **arguments: Any) -> dict[str, Any]:
    answer = await ask(broker, command, **arguments)
    assert answer["ok"], answer
    found: dict[str, Any] = answer["result"]
    return found


async def test_a_ban_is_made_listed_and_lifted(start: Start) -> None:
    broker = await start({})
    client = await log_in(broker, "c")
    made = await result(broker, "ban", kind="client", value="c", reason="why", seconds=60)
    assert (made["ended"], made["kept"]) == (1, True)
    assert await client.rest() == b""
    ban = made["banned"]
    assert ban["until_ms"] - ban["since_ms"] == 60_000
    assert (ban["kind"], ban["value"], ban["reason"]) == ("client", "c", "why")
    assert ban["source"] == "operator"
    assert await result(broker, "bans") == {"bans": [ban], "next": None}
    assert await result(broker, "lift_ban", kind="client", value="c") == {
        "lifted": ban,
        "kept": True,
    }
    assert (await result(broker, "bans"))["bans"] == []
    again = await ask(broker, "lift_ban", kind="client", value="c")
    assert again["error"]["code"] == "not_found"


async def test_an_address_is_found_again_however_it_is_written(start: Start) -> None:
    broker = await start({})
    made = await result(broker, "ban", kind="address", value="192.0.2.7/24")
    assert made["banned"]["value"] == "192.0.2.0/24"
    assert made["banned"]["until_ms"] is None
    assert (await result(broker, "lift_ban", kind="address", value="192.0.2.9/24"))["kept"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"kind": [], "value": "c"},
        {"kind": "planet", "value": "c"},
        {"kind": "client", "value": 7},
        {"kind": "address", "value": "host.example"},
        {"kind": "client", "value": "c", "seconds": 0},
        {"kind": "client", "value": "c", "seconds": True},
        {"kind": "client", "value": "c", "seconds": "60"},
        {"kind": "client", "value": "c", "seconds": 1e300},
        {"kind": "client", "value": "c", "reason": "x" * 1_000},
    ],
)
async def test_what_is_no_ban_is_refused(start: Start, arguments: dict[str, Any]) -> None:
    broker = await start({})
    assert (await ask(broker, "ban", **arguments))["error"]["code"] == "bad_request"
    assert (await ask(broker, "lift_ban", **arguments))["error"]["code"] in (
        "bad_request",
        "not_found",
    )
    assert (await ask(broker, "bans", first=-1))["error"]["code"] == "bad_request"


async def test_bans_of_the_longest_names_are_listed_some_at_a_time(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start({})
    value = "\x01" * (VALUE_BYTES_MAX - 3)
    reason = "\U0001f600" * REASON_CHARACTERS_MAX
    await result(broker, "ban", kind="client", value=f"{value}000", reason=reason)
    listed = await ask(broker, "bans")
    assert ban_requests.LISTED_MAX * len(json.dumps(listed)) < LINE_BYTES_MAX
    monkeypatch.setattr(ban_requests, "LISTED_MAX", 2)
    for name in ("a", "b"):
        await result(broker, "ban", kind="user", value=name)
    first = await result(broker, "bans")
    assert [len(first["bans"]), first["next"]] == [2, 2]
    rest = await result(broker, "bans", first=2)
    assert [each["value"] for each in rest["bans"]] == ["b"]
    assert rest["next"] is None


async def test_the_socket_that_reads_lists_bans_and_makes_none(start: Start) -> None:
    broker = await start({})
    assert (await ask(broker, "bans", "status.sock"))["ok"]
    for command in ("ban", "lift_ban"):
        answer = await ask(broker, command, "status.sock", kind="client", value="c")
        assert answer["error"]["code"] == "forbidden"
