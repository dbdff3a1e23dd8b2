"""Requests about sensors pass from the page through the broker to the bridge, and nowhere else."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gateway.broker.server.control.refused import Refused
from gateway.broker.server.control.sensors import (
    AWAY_SECONDS,
    REQUEST_BYTES_MAX,
    REQUESTS_MAX,
    SensorRequests,
)
from tests.broker.server.control.test_operations import BEN, ask, operated, written
from tests.broker.server.reloading_broker import eventually, reloading_broker

SAVE: dict[str, Any] = {"command": "serial_save", "name": "gps", "table": {"path": "/dev/x"}}


class Time:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


async def taken(requests: SensorRequests, *answers: dict[str, Any]) -> list[dict[str, Any]]:
    """Poll as the bridge does, with its answers; return the requests that it receives."""
    answer = await requests.commands["serial_requests"]({"answers": [*answers]})
    found: list[dict[str, Any]] = answer["requests"]
    return found


async def test_an_answer_of_the_bridge_reaches_who_asked_and_a_refusal_keeps_its_code() -> None:
    requests = SensorRequests(Time())
    waiting = [asyncio.create_task(_passed_on(requests, {**SAVE, "name": n})) for n in "ab"]
    await asyncio.sleep(0)
    first, second = await taken(requests)
    assert (first["name"], second["name"]) == ("a", "b")
    polling = asyncio.create_task(
        taken(
            requests,
            {"number": second["number"], "ok": True, "result": {"sensors": ["b"]}},
            {"number": first["number"], "ok": False, "error": {"code": "conflict", "message": "m"}},
            {"number": 99, "ok": True, "result": {}},
        )
    )
    assert await waiting[1] == {"sensors": ["b"]}
    with pytest.raises(Refused, match="m") as refused:
        await waiting[0]
    assert refused.value.code == "conflict"
    requests.stop()
    assert await polling == []


async def test_a_question_of_a_bridge_that_was_killed_takes_no_request_of_the_next_one() -> None:
    requests = SensorRequests(Time())
    killed = asyncio.create_task(taken(requests))
    await asyncio.sleep(0)
    alive = asyncio.create_task(taken(requests))
    assert await killed == []
    waiting = asyncio.create_task(_passed_on(requests, SAVE))
    (request,) = await alive
    assert request["name"] == "gps"
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_a_request_that_no_bridge_fetches_is_refused_and_not_carried_out_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gateway.broker.server.control.sensors.AWAY_SECONDS", 0.01)
    requests = SensorRequests(Time())
    with pytest.raises(Refused, match="is not running") as refused:
        await _passed_on(requests, SAVE)
    assert refused.value.code == "bridge_away"
    polling = asyncio.create_task(taken(requests))
    await asyncio.sleep(0)
    requests.stop()
    assert await polling == []


async def test_requests_are_bounded_in_number_and_size() -> None:
    requests = SensorRequests(Time())
    waiting = [asyncio.create_task(_passed_on(requests, SAVE)) for _ in range(REQUESTS_MAX)]
    await asyncio.sleep(0)
    with pytest.raises(Refused, match="other requests"):
        await _passed_on(requests, SAVE)
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    with pytest.raises(Refused, match=f"at most {REQUEST_BYTES_MAX} bytes"):
        await _passed_on(requests, {**SAVE, "table": {"x": "y" * REQUEST_BYTES_MAX}})


async def test_a_tenant_s_operators_are_sent_to_the_gateway_s_own_page() -> None:
    requests = SensorRequests(Time())
    requests.tenant = "acme"
    with pytest.raises(Refused, match="serial ports are the gateway's") as refused:
        await _passed_on(requests, SAVE)
    assert refused.value.code == "of_the_gateway"


@pytest.mark.parametrize("answer", [{}, {"ok": True}, {"ok": False, "error": 3}, {"ok": 1}])
async def test_an_answer_that_is_none_is_a_failure_with_a_fix(answer: dict[str, Any]) -> None:
    requests = SensorRequests(Time())
    waiting = asyncio.create_task(_passed_on(requests, SAVE))
    await asyncio.sleep(0)
    (request,) = await taken(requests)
    polling = asyncio.create_task(taken(requests, {**answer, "number": request["number"]}))
    with pytest.raises(Refused, match="restart bridge and broker"):
        await waiting
    requests.stop()
    await polling
    with pytest.raises(Refused, match="'answers' is a list"):
        await requests.commands["serial_requests"]({"answers": 3})


async def test_after_a_reload_the_bridge_is_asked_to_read_its_ports_again() -> None:
    time = Time()
    requests = SensorRequests(time)
    requests.reload()  # without a bridge, the request is dropped
    polling = asyncio.create_task(taken(requests))
    await asyncio.sleep(0)
    requests.reload()
    assert [each["command"] for each in await polling] == ["serial_reload"]
    time.seconds += AWAY_SECONDS + 1
    requests.reload()
    polling = asyncio.create_task(taken(requests))
    await asyncio.sleep(0)
    requests.stop()
    assert await polling == []


async def test_a_page_that_is_open_while_the_bridge_is_away_writes_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("gateway.broker.server.control.sensors.AWAY_SECONDS", 0.01)
    async with reloading_broker(tmp_path, **written(tmp_path)):
        away = await ask(tmp_path, "operate", command="serial_ports", **BEN)
        assert away["error"]["code"] == "bridge_away"
        assert not [each for each in caplog.messages if "serial_ports" in each]
        anna = BEN | {"by": "anna"}
        await ask(tmp_path, "operate", command="serial_ports", **anna)
        assert [each for each in caplog.messages if "serial_ports" in each]


async def test_a_change_is_passed_on_for_operators_only_and_recorded_with_who_made_it(
    tmp_path: Path,
) -> None:
    async with reloading_broker(tmp_path, **written(tmp_path)):
        anna = BEN | {"by": "anna", "role": "viewer"}
        assert (await ask(tmp_path, "operate", **SAVE, **anna))["error"]["code"] == "forbidden"
        fetching = {"command": "serial_requests", "answers": []}
        refused = await ask(tmp_path, "operate", **fetching, **BEN)
        assert refused["error"]["code"] == "forbidden"
        refused = await ask(tmp_path, "status", **SAVE)
        assert refused["error"]["code"] == "forbidden"

        polling = asyncio.create_task(ask(tmp_path, "control", **fetching))
        saving = asyncio.create_task(ask(tmp_path, "operate", **SAVE, **BEN))
        (request,) = (await polling)["result"]["requests"]
        done = {"number": request["number"], "ok": True, "result": {"sensors": ["gps"]}}
        polling = asyncio.create_task(
            ask(tmp_path, "control", command="serial_requests", answers=[done])
        )
        assert (await saving)["result"] == {"sensors": ["gps"]}

        def is_recorded() -> bool:
            return any(event["action"] == "serial_save" for event in operated(tmp_path))

        await eventually(is_recorded)
        (event,) = [each for each in operated(tmp_path) if each["action"] == "serial_save"][-1:]
        assert "'ben' ('operator') from '192.0.2.7'" in str(event["detail"])
        assert "'name'='gps'" in str(event["detail"])
        assert "/dev/x" in str(event["detail"])
    await asyncio.gather(polling, return_exceptions=True)


def _passed_on(requests: SensorRequests, request: dict[str, Any]) -> Any:
    return requests.commands[request["command"]](request)
