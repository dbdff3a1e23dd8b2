"""The Modbus poller against pymodbus's devices on a disturbed line, and its polling order."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from firmware_bridge.protocols.modbus import Modbus
from firmware_bridge.protocols.modbus_device import Device
from firmware_bridge.protocols.modbus_register import Register
from pydantic_core import PydanticCustomError

from tests.bridge.broker import Subscriber
from tests.bridge.modbus_devices import devices_behind
from tests.bridge.protocols.test_modbus_rtu import closed
from tests.bridge.running import port_on, running_bridge, settings_of
from tests.bridge.terminal import Terminal

PUMP = Device(
    name="pump", address=5,
    registers=(
        Register(name="speed", at=0, unit="1/min"),
        Register(name="temperature", at=1, type="i16", scale=0.1, unit="Cel"),
        Register(name="energy", at=2, type="u32", unit="Wh"),
        Register(name="level", at=1, kind="input"),
        Register(name="running", at=0, kind="coil"),
    ),
)  # fmt: skip
TANK = Device(name="tank", address=9, registers=(Register(name="level", at=0, unit="m"),))
GONE = Device(name="gone", address=30, registers=(Register(name="level", at=0),))
REGISTERS = {5: [1480, 65536 - 55, 1, 1], 9: [42, 0]}
PUMP_VALUES = {
    "pump/speed": (1480, "1/min"),
    "pump/temperature": (-5.5, "Cel"),
    "pump/energy": (65537, "Wh"),
    "pump/level": (65481, None),
    "pump/running": (True, None),
}


def settings(*devices: Device, **others: Any) -> Modbus:
    return Modbus(devices=devices, **{"poll_interval": 0.05, "answer_timeout": 0.3, **others})


async def values_of(subscriber: Subscriber, count: int) -> dict[str, tuple[object, object]]:
    await subscriber.arrival_of(count)
    return {
        record["n"]: (record.get("v", record.get("vb")), record.get("u"))
        for record in subscriber.records()
    }


async def test_devices_of_one_line_are_read_and_one_that_is_gone_costs_only_its_time(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    port = port_on(terminal, "modbus", **vars_of(settings(PUMP, GONE, TANK)))
    async with (
        devices_behind(terminal, tmp_path, REGISTERS),
        running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room,
    ):
        found = await values_of(subscriber, 12)
        await room.wait_until(lambda room: room.port("sensor")["damaged"].get("no_answer", 0) >= 2)
        assert set(room.port("sensor")["damaged"]) == {"no_answer"}
        assert room.port("sensor")["foreign"] == {}
    assert found == {**PUMP_VALUES, "tank/level": (42, "m")}


@pytest.mark.parametrize(
    ("disturbance", "reason"),
    [
        (lambda answer: answer[:-1] + b"\xff", "checksum"),
        (lambda answer: answer[:3], "truncated"),
        (lambda answer: b"", "no_answer"),
        (lambda answer: closed(12, *answer[1:-2]), "address"),
        (lambda answer: bytes(300), "overlong"),
        (lambda answer: b"\x55\xaa", "noise"),
    ],
)
async def test_a_disturbed_answer_is_counted_and_the_next_one_is_read(
    disturbance: Any, reason: str, subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    port = port_on(terminal, "modbus", **vars_of(settings(TANK, answer_timeout=0.1)))
    async with (
        devices_behind(terminal, tmp_path, REGISTERS) as line,
        running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room,
    ):
        line.disturb = disturbance
        await room.wait_until(lambda room: room.port("sensor").get("damaged", {}).get(reason, 0))
        line.disturb = bytes
        frames = room.port("sensor")["frames"]
        await room.wait_until(lambda room: room.port("sensor")["frames"] > frames + 1)
        await subscriber.arrival_of(frames + 2)
    records = subscriber.records()
    assert {(record["topic"], record["v"]) for record in records} == {("sensors/tank/level", 42)}
    sequences = [record["sequence"] for record in records]
    assert sequences == [*range(1, len(sequences) + 1)]


async def test_noise_of_the_turnaround_before_an_answer_and_an_echo_cost_nothing(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    port = port_on(terminal, "modbus", **vars_of(settings(PUMP, echo=True, turnaround=0.01)))
    async with (
        devices_behind(terminal, tmp_path, REGISTERS) as line,
        running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room,
    ):
        line.disturb = lambda answer: line.requests[-1] + b"\x00" + answer
        assert await values_of(subscriber, 10) == PUMP_VALUES
        assert room.port("sensor")["damaged"] == {}


async def test_an_answer_that_arrives_several_times_together_is_read_one_time(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    port = port_on(terminal, "modbus", **vars_of(settings(TANK, poll_interval=0.2)))
    async with (
        devices_behind(terminal, tmp_path, REGISTERS) as line,
        running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room,
    ):
        line.disturb = lambda answer: answer * 4
        await subscriber.arrival_of(3)
        assert room.port("sensor")["damaged"] == {}
    assert len(subscriber.records()) <= len(line.requests)


async def test_a_refusal_is_counted_as_one_and_the_next_request_follows_without_a_timeout(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    port = port_on(terminal, "modbus", **vars_of(settings(TANK, PUMP, answer_timeout=30.0)))
    async with (
        devices_behind(terminal, tmp_path, REGISTERS) as line,
        running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room,
    ):
        line.disturb = lambda answer: (
            closed(9, answer[1] | 0x80, 4) if answer[0] == TANK.address else answer
        )
        await room.wait_until(
            lambda room: room.port("sensor").get("refused", {}).get("exception_4", 0) > 2
        )
        line.disturb = bytes
        await room.wait_until(
            lambda _: any(
                record["topic"] == "sensors/tank/level" for record in subscriber.records()
            )
        )
        shown = room.port("sensor")
    assert (shown["damaged"], shown["foreign"]) == ({}, {})


async def test_answers_with_fewer_registers_are_not_damage_and_all_values_are_read_in_parts(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    port = port_on(terminal, "modbus", **vars_of(settings(PUMP, answer_timeout=30.0)))
    async with (
        devices_behind(terminal, tmp_path, REGISTERS) as line,
        running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room,
    ):
        line.disturb = lambda answer: (
            closed(answer[0], 3, 4, *answer[3:7]) if answer[1] == 3 and answer[2] > 4 else answer
        )
        assert await values_of(subscriber, 10) == PUMP_VALUES
        shown = room.port("sensor")
    assert (shown["damaged"], set(shown["refused"])) == ({}, {"short_answer"})
    assert "pump refuses 4 registers in one request; it is asked for at most 2" in caplog.text


def vars_of(made: Modbus) -> dict[str, Any]:
    return {key: getattr(made, key) for key in made.descriptions}


@pytest.mark.parametrize(
    ("devices", "fix"),
    [
        ((PUMP, PUMP), "name speed once in the tables of device pump"),
        ((TANK, replace(TANK, address=8)), "name tank for one address in devices, and not for 9"),
    ],
)
def test_one_name_for_two_devices_or_quantities_is_refused(
    devices: tuple[Device, ...], fix: str
) -> None:
    with pytest.raises(PydanticCustomError, match=fix):
        settings(*devices).check()


async def test_several_tables_may_have_one_address_and_name_with_keys_of_their_own(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    tables = (
        Device(name="a", address=254, registers=(Register(name="big", at=2, type="u32"),)),
        Device(name="a", address=254, registers=(Register(name="little", at=2, type="u32"),),
               poll_interval=0.02, word_order="little"),
        Device(name="b", address=254, registers=(
            Register(name="none", at=0), Register(name="low", at=1, byte_order="little"),
            Register(name="own", at=0, no_value=())), no_value=(65535,)),
    )  # fmt: skip
    settings(*tables).check()
    assert settings(*tables).device_names == ("a", "b")
    port = port_on(terminal, "modbus", **vars_of(settings(*tables)))
    async with (
        devices_behind(terminal, tmp_path, {254: [0xFFFF, 0x0100, 1, 2]}),
        running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room,
    ):
        await room.wait_until(lambda room: bool(room.port("sensor").get("left_out")))
        found = await values_of(subscriber, 12)
        shown = room.port("sensor")
    assert found == {
        "a/big": (65538, None),
        "a/little": (131073, None),
        "b/low": (1, None),
        "b/own": (65535, None),
    }
    assert [each["device"] for each in shown["devices"]] == ["a", "b"]
    assert shown["devices"][1]["unread"] == [
        {"name": "none", "place": "holding 0", "reason": "no_value"}
    ]


async def test_a_device_that_has_never_answered_is_reported_and_named_in_the_log(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    port = port_on(terminal, "modbus", **vars_of(settings(GONE, TANK, answer_timeout=0.05)))
    async with (
        devices_behind(terminal, tmp_path, REGISTERS),
        running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room,
    ):
        await room.wait_for_port("sensor", "open")
        await room.wait_until(lambda room: room.port("sensor")["damaged"].get("no_answer", 0) > 2)
        gone, tank = room.port("sensor")["devices"]
    assert (gone["device"], gone["last_ms"], gone["boot"]) == ("gone", None, None)
    assert gone["failed"]["reason"] == "no_answer"
    assert gone["failed"]["count"] > 2
    assert (tank["device"], tank["failed"]) == ("tank", None)
    assert "serial port sensor: gone does not answer (holding 0), 1 since the start" in caplog.text
