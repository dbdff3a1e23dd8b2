"""Meters of IEC 62056-21 on a real port: the rate changes within a conversation."""

from dataclasses import replace
from pathlib import Path

from firmware_bridge.protocols.d0 import D0
from firmware_bridge.serial.settings import PortSettings

from gateway.process.declarations.serial_line import Line
from tests.bridge.broker import Subscriber
from tests.bridge.running import running_bridge, settings_of
from tests.bridge.serial.d0_meter import D0Meter
from tests.bridge.serial.serial_server import ser2net
from tests.bridge.terminal import Terminal
from tests.system.broker_process import free_port


def meter_port(terminal: Terminal, **keys: object) -> PortSettings:
    settings = D0(**{"poll_interval": 1.0, **keys})  # type: ignore[arg-type]
    return PortSettings("meter", str(terminal.link), None, "d0", settings, line=D0.default_line)


async def test_a_meter_is_asked_at_300_baud_and_read_at_the_rate_that_it_offers(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    meter = D0Meter(terminal)
    settings = settings_of(tmp_path / "data", subscriber.port, meter_port(terminal))
    async with running_bridge(settings) as room:
        await meter.answer()
        await subscriber.arrival_of(4)
        await meter.answer()
        await room.wait_until(lambda room: room.port("meter").get("frames", 0) >= 2)
        shown = room.port("meter")
    assert meter.heard[:2] == [(300, b"/?!\r"), (300, b"\x06050\r")]
    assert meter.heard[2:4] == meter.heard[:2], "the next request is at 300 baud again"
    records = {each["topic"]: each["v"] for each in subscriber.records() if "v" in each}
    assert records["sensors/meter/energy_import"] == 123.456
    assert (shown["damaged"], shown["left_out"]) == ({}, {})
    assert [each["device"] for each in shown["devices"]] == ["meter"]


async def test_a_meter_at_a_serial_server_is_read_at_the_rate_that_it_offers(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    meter, number = D0Meter(terminal), free_port()
    port = replace(
        meter_port(terminal, poll_interval=3600.0),
        path=None,
        address=f"rfc2217://127.0.0.1:{number}",
    )
    settings = settings_of(tmp_path / "data", subscriber.port, port)
    async with ser2net(tmp_path, "rfc2217", number, terminal.link), running_bridge(settings):
        await meter.answer()
        await subscriber.arrival_of(4)
        assert meter.rate == 9600
    assert meter.heard == [(300, b"/?!\r"), (300, b"\x06050\r")]


async def test_a_meter_that_does_not_answer_is_named_and_asked_again(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    meter = D0Meter(terminal)
    settings = settings_of(tmp_path / "data", subscriber.port, meter_port(terminal))
    async with running_bridge(settings) as room:
        await meter.next_line()
        await room.wait_until(lambda room: room.port("meter").get("damaged") == {"no_answer": 1})
        (device,) = room.port("meter")["devices"]
        assert (device["device"], device["failed"]["reason"]) == ("meter", "no_answer")
        await meter.answer()
        await subscriber.arrival_of(4)


async def test_the_rate_of_the_line_is_that_of_the_conversation(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    meter = D0Meter(terminal)
    port = meter_port(terminal, poll_interval=3600.0)
    async with running_bridge(settings_of(tmp_path / "data", subscriber.port, port)):
        await meter.answer()
        await subscriber.arrival_of(4)
        assert meter.rate == 9600


def test_the_line_is_300_baud_without_a_line_in_the_file() -> None:
    assert D0.default_line == Line(300, 7, "E", 1)
