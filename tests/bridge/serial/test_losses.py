"""What a port loses is logged at doublings, and summed up when it is lost and at the end."""

from collections import Counter

import pytest
from firmware_bridge.serial.losses import Losses
from firmware_bridge.serial.status import PortStatus

from gateway.keys.readings import QuantityRule, Readings
from tests.bridge.broker import Subscriber
from tests.bridge.running import port_on, running_bridge, settings_of
from tests.bridge.terminal import Terminal


def test_each_reason_is_logged_when_its_count_has_doubled(caplog: pytest.LogCaptureFixture) -> None:
    losses = Losses(PortStatus("sensor", "board", "path"))
    damaged: Counter[str] = Counter()
    for _ in range(1000):
        losses.drop("out_of_range")
        damaged["checksum"] += 1
        losses.check_damage(damaged)
        losses.check_damage(damaged)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 20  # at 1, 2, 4 ... 512, of each
    assert lines[-1].startswith("serial port sensor: damaged (checksum), 512 since the start")


def test_a_summary_has_what_came_since_the_last_one(caplog: pytest.LogCaptureFixture) -> None:
    losses = Losses(PortStatus("sensor", "board", "path"))
    losses.begin_dropping("outbox_full", 5)
    caplog.clear()
    losses.summarise({"checksum": 3})
    losses.summarise({"checksum": 3})
    losses.summarise({"checksum": 4})
    assert [record.getMessage() for record in caplog.records] == [
        "serial port sensor: in all 3 damaged (checksum), 5 dropped (outbox_full)",
        "serial port sensor: in all 1 damaged (checksum)",
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
    assert caplog.text.count("serial port sensor: in all") == 1
