"""The settings `[serial.readings]`, from the line to the subscriber."""

import json
from dataclasses import replace

from gateway.process.declarations.readings import QuantityRule, Readings
from tests.bridge.board import acknowledgements, board_frame
from tests.bridge.broker import Subscriber
from tests.bridge.running import port_on, running_bridge, settings_of
from tests.bridge.terminal import Terminal

ON_CHANGE = QuantityRule(name="temperature", on_change=True)


async def test_lines_are_scaled_tagged_and_published_by_the_port_s_pattern_and_template(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    readings = Readings(
        topic="sensors/{site}/{device}/{quantity}",
        payload="json",
        template={"v": "{value}", "u": "{unit}", "n": "{sequence}", "at": "{site}"},
        tags={"site": "north"},
        quantities=(replace(ON_CHANGE, scale=0.1, unit="Cel"),),
    )
    port = replace(port_on(terminal, "json"), readings=readings)
    settings = settings_of(terminal.link.parent / "data", subscriber.port, port)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(
            b'{"temperature":215}\n{"temperature":215}\n{"temperature":1e300}\n{"temperature":216}\n'
            b'{"temperature":216,"door":"open"}\n'
        )
        await subscriber.arrival_of(4)
    found = [(topic, json.loads(payload)) for topic, payload in subscriber.messages]
    topic = "sensors/north/sensor/temperature"
    assert [(topic, each["v"], each["n"]) for topic, each in found] == [
        (topic, 21.5, 1),
        (topic, 1e299, 2),
        (topic, 21.6, 3),
        ("sensors/north/sensor/door", "open", 4),
    ]
    assert (found[0][1]["u"], found[3][1]["u"], found[0][1]["at"]) == ("Cel", None, "north")


async def test_senml_carries_the_tags(subscriber: Subscriber, terminal: Terminal) -> None:
    port = replace(port_on(terminal, "json"), readings=Readings(tags={"site": "north"}))
    settings = settings_of(terminal.link.parent / "data", subscriber.port, port)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(b'{"temperature":21.5}\n')
        await subscriber.arrival_of(1)
    (record,) = subscriber.records()
    assert (record["tags"], record["topic"]) == ({"site": "north"}, "sensors/sensor/temperature")


async def test_a_subscriber_that_comes_later_has_the_last_reading_where_it_is_retained(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    port = replace(port_on(terminal, "json"), readings=Readings(payload="value", retain=True))
    settings = settings_of(terminal.link.parent / "data", subscriber.port, port)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(b'{"temperature":21}\n{"temperature":22}\n{"door":"open"}\n')
        await subscriber.arrival_of(3)
    late = Subscriber(subscriber.port, "late-subscriber")
    await late.arrival_of(2)
    await late.settled()
    late.close()
    assert sorted(late.messages) == [
        ("sensors/sensor/door", b"open"),
        ("sensors/sensor/temperature", b"22"),
    ]


async def test_a_board_is_acknowledged_also_where_nothing_of_its_frame_is_published(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    port = replace(
        port_on(terminal, "board"), readings=Readings(quantities=(ON_CHANGE,), payload="value")
    )
    settings = settings_of(terminal.link.parent / "data", subscriber.port, port)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(board_frame(1) + board_frame(2) + board_frame(3, 22.0))
        assert sorted(await acknowledgements(terminal, 3)) == [1, 2, 3]
        await terminal.write(board_frame(2) + board_frame(4, 22.0) + board_frame(5, 21.5))
        assert sorted(await acknowledgements(terminal, 3)) == [2, 4, 5]
        await subscriber.arrival_of(3)
        await subscriber.settled()
    assert [payload for _, payload in subscriber.messages] == [b"21.5", b"22.0", b"21.5"]
