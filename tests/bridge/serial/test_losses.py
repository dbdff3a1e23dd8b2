"""Losses of a port are logged at each doubling, and summed up at its loss and at the end."""

import logging
from collections import Counter
from datetime import datetime, timedelta, timezone

import pytest
from firmware_bridge.serial.losses import Losses
from firmware_bridge.serial.status import PortStatus

from gateway.process.declarations.readings import QuantityRule, Readings
from tests.bridge.broker import Subscriber
from tests.bridge.running import port_on, running_bridge, settings_of
from tests.bridge.terminal import Terminal


def test_each_reason_is_logged_when_its_count_has_doubled(caplog: pytest.LogCaptureFixture) -> None:
    losses = Losses(PortStatus("sensor", "board", "path"))
    damaged: Counter[str] = Counter()
    for _ in range(1000):
        losses.note_dropped("out_of_range")
        damaged["checksum"] += 1
        losses.check_damage(damaged)
        losses.check_damage(damaged)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 20  # at 1, 2, 4 ... 512, of each
    assert lines[-1].startswith("serial port sensor: damaged (checksum), 512 since the start")


def test_a_wrong_time_zone_is_logged_with_the_key_that_corrects_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    losses = Losses(PortStatus("meter", "dsmr", "path"))
    for _ in range(3):
        losses.note_time_zone("meter", 1, 2)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2
    assert lines[0] == (
        "serial port meter: the times of meter are 1 h ahead of the gateway's clock: set "
        "utc_offset = 2 if the meter is in another time zone"
    )


def test_a_summary_has_what_was_counted_since_the_last_one_and_warns_of_losses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    status = PortStatus("sensor", "board", "path")
    losses = Losses(status)
    losses.summarise({})
    losses.begin_dropping("outbox_full", 5)
    caplog.clear()
    caplog.set_level(logging.INFO)
    status.note_bytes(31)
    status.note_frame(1_763_715_138.25)
    status.note_line_errors({"overrun": 2}, {})
    status.resyncs, status.opened = 1, 3
    losses.summarise({"checksum": 3})
    losses.summarise({"checksum": 3})
    status.note_bytes(7)
    losses.summarise({"checksum": 3})
    since = "serial port sensor: since the last summary"
    last = "last frame 2025-11-21T08:52:18Z"
    counted = "31 bytes, 1 frames, 1 resyncs, 2 reopened, 2 overruns, 3 damaged (checksum)"
    assert [(record.levelname, record.getMessage()) for record in caplog.records[-2:]] == [
        ("WARNING", f"{since} {counted}, 5 dropped (outbox_full); {last}"),
        ("INFO", f"{since} 7 bytes; {last}"),
    ]


async def test_a_bad_quantity_beside_a_good_one_does_not_fill_the_log(
    subscriber: Subscriber, terminal: Terminal, caplog: pytest.LogCaptureFixture
) -> None:
    rules = Readings(quantities=(QuantityRule(name="bad", scale=2),))
    port = port_on(terminal, "key_value", readings=rules)
    settings = settings_of(terminal.link.parent / "data", subscriber.port, port)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(b"good=1 bad=9223372036854775807\n" * 100 + b"\xff\n" * 9)
        await subscriber.arrival_of(100)
        await room.wait_until(lambda room: room.port("sensor")["dropped"] == {"out_of_range": 100})
        await room.wait_until(lambda room: sum(room.port("sensor")["damaged"].values()) == 9)
        terminal.unplug()
        await room.wait_for_port("sensor", "lost")
    assert caplog.text.count("readings are dropped (out_of_range)") == 7
    assert 1 <= caplog.text.count("serial port sensor: damaged (") <= 4
    assert caplog.text.count("serial port sensor: since the last summary") == 1


async def test_a_meter_of_another_time_zone_is_named_in_the_log(
    subscriber: Subscriber, terminal: Terminal, caplog: pytest.LogCaptureFixture
) -> None:
    zone = timezone(timedelta(hours=2))
    local = f"{datetime.now(zone):%y%m%d%H%M%S}W"
    telegram = f"/ISK5\r\n\r\n0-0:1.0.0({local})\r\n1-0:1.7.0(1*kW)\r\n!\r\n"
    port = port_on(terminal, "dsmr", crc=False)
    settings = settings_of(terminal.link.parent / "data", subscriber.port, port)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(telegram.encode())
        await subscriber.arrival_of(2)
    assert "the times of sensor are 1 h ahead of the gateway's clock: set utc_offset = 2" in (
        caplog.text
    )


def test_damage_from_parity_bits_is_logged_with_the_key_that_removes_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Losses(PortStatus("meter", "dsmr", "path")).check_damage({"parity": 1})
    assert 'set line, such as line = "9600 7E1"' in caplog.records[0].getMessage()
