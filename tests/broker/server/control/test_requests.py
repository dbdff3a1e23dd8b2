"""Responses at the control socket of a broker in this process."""

import asyncio
import json
from typing import Any

import pytest

from gateway.broker.server.control import requests
from tests.broker.server.broker import Broker, log_in
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import publish, subscribe


async def ask(broker: Broker, line: bytes | dict[str, Any]) -> dict[str, Any]:
    """Send one line to `control.sock`; return the response."""
    if isinstance(line, dict):
        line = json.dumps(line).encode()
    data_dir = broker.running.reloading.configuration.gateway.data_dir
    reader, writer = await asyncio.open_unix_connection(data_dir / "control.sock")
    try:
        writer.write(line + b"\n")
        answer: dict[str, Any] = json.loads(await reader.readline())
        return answer
    finally:
        writer.close()


async def result(broker: Broker, command: str, **arguments: Any) -> Any:
    answer = await ask(broker, {"command": command, **arguments})
    assert answer["ok"], answer
    return answer["result"]


async def code(broker: Broker, command: str, **arguments: Any) -> str:
    answer = await ask(broker, {"command": command, **arguments})
    assert not answer["ok"]
    found: str = answer["error"]["code"]
    return found


@pytest.mark.parametrize("line", [b"{", b"[]", b"7", b'"status"', b"[" * 100_000, b"\xff"])
async def test_what_is_no_request_is_refused_and_the_socket_goes_on(
    start: Start, line: bytes
) -> None:
    broker = await start({})
    assert (await ask(broker, line))["error"]["code"] == "bad_request"
    assert (await result(broker, "status"))["state"] == "running"


async def test_an_unknown_command_is_answered_with_those_that_there_are(start: Start) -> None:
    broker = await start({})
    answer = await ask(broker, {"command": "no_such_command"})
    assert answer["error"]["code"] == "unknown_command"
    assert (
        "ban, bans, change_network, clear_retained, configuration, drop, events, exported"
        in answer["error"]["message"]
    )


async def test_a_session_is_shown_with_its_subscriptions_and_dropped_with_them(
    start: Start,
) -> None:
    broker = await start({})
    client = await log_in(broker, "c")
    client.send(subscribe(1, ("t", 1)))
    await client.packet()
    assert (await result(broker, "session", client_id="c"))["subscriptions"] == [
        {"filter": "t", "qos": 1}
    ]
    assert await result(broker, "drop", client_id="c") == {"dropped": True}
    assert await client.rest() == b""
    assert await code(broker, "session", client_id="c") == "not_found"
    assert broker.status()["subscriptions"] == 0


async def test_a_client_that_is_kicked_keeps_its_session(start: Start) -> None:
    broker = await start({})
    client = await log_in(broker, "c")
    assert await result(broker, "kick", client_id="c") == {"kicked": True}
    assert await client.rest() == b""
    assert await code(broker, "kick", client_id="c") == "not_found"
    assert not (await result(broker, "session", client_id="c"))["connected"]


async def test_the_last_report_of_a_process_is_shown_with_its_age(start: Start) -> None:
    broker = await start({})
    for number in (1, 2):
        assert await result(broker, "report", source="bridge", status={"ports": number}) == {}
    reports = await result(broker, "reports")
    assert list(reports) == ["bridge"]
    assert reports["bridge"]["status"] == {"ports": 2}
    assert 0 <= reports["bridge"]["age_seconds"] < 60
    assert await code(broker, "report", source="toaster", status={}) == "bad_request"
    assert await code(broker, "report", source="bridge", status=[]) == "bad_request"
    too_long = {"x": "y" * requests.REPORT_BYTES_MAX}
    assert await code(broker, "report", source="bridge", status=too_long) == "bad_request"


async def test_only_what_was_recorded_can_be_exported(start: Start) -> None:
    broker = await start({})
    client = await log_in(broker, "c")
    client.send(publish("t", b"x", qos=1, packet_id=1))
    await client.packet()
    last = (await result(broker, "status"))["journal"]["last_sequence"]
    assert await result(broker, "exported", sequence=last) == {}
    assert (await result(broker, "status"))["journal"]["exported_sequence"] == last
    for sequence in (-1, 1 << 40, "1", None):
        assert await code(broker, "exported", sequence=sequence) == "bad_request"


async def test_what_the_bridge_observes_of_its_ports_is_recorded(start: Start) -> None:
    broker = await start({})
    recorder = broker.running.event_loop.broker.batch
    before = recorder.next_sequence + recorder.record_count
    assert await result(broker, "observe", event="serial_port_lost", port="gps") == {}
    assert recorder.next_sequence + recorder.record_count == before + 1
    assert await code(broker, "observe", event="store_damaged", port="gps") == "bad_request"


async def test_a_broker_without_a_file_has_nothing_to_reload(start: Start) -> None:
    broker = await start({})
    assert (await result(broker, "reload"))["changed"] == []
