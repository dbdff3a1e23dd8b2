"""A quantity keeps its kind over restarts of the bridge, also without Home Assistant."""

from pathlib import Path

from tests.bridge.broker import Subscriber
from tests.bridge.running import ControlRoom, port_on, running_bridge, settings_of
from tests.bridge.terminal import Terminal

NUMBERS_AND_TEXTS = b"t=21.5 open=true id=12A4\n"


def values_of(subscriber: Subscriber) -> dict[str, list[object]]:
    """Return the received values by the name of their quantity."""
    found: dict[str, list[object]] = {}
    for each in subscriber.records():
        value = each.get("v", each.get("vs", each.get("vb")))
        found.setdefault(str(each["n"]).rpartition("/")[2], []).append(value)
    return found


def skipped(room: ControlRoom) -> int:
    counts: dict[str, int] = room.port("sensor").get("left_out", {})
    return counts.get("type", 0)


def damaged(room: ControlRoom) -> int:
    counts: dict[str, int] = room.port("sensor").get("damaged", {})
    return counts.get("type", 0)


async def test_numbers_texts_and_booleans_keep_their_kind_over_a_restart(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    settings = settings_of(tmp_path / "data", subscriber.port, port_on(terminal, "key_value"))
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(NUMBERS_AND_TEXTS)
        await subscriber.arrival_of(3)
    for _ in range(2):  # The second start loads the kinds that the first start stored.
        async with running_bridge(settings) as room:
            await room.wait_for_port("sensor", "open")
            await terminal.write(b"t=ERR open=ajar id=0012\n")
            await room.wait_until(lambda room: skipped(room) == 2)
    await subscriber.settled()
    assert values_of(subscriber) == {
        "t": [21.5],
        "open": [True],
        "id": ["12A4", "0012", "0012"],
    }


async def test_a_text_of_a_protocol_without_declared_types_may_become_a_number(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    settings = settings_of(tmp_path / "data", subscriber.port, port_on(terminal, "mysensors"))
    for count, value in enumerate((b"warm", b"5", b"warm"), 1):
        async with running_bridge(settings) as room:
            await room.wait_for_port("sensor", "open")
            await terminal.write(b"12;6;1;0;24;%s\n" % value)
            if count < 3:
                await subscriber.arrival_of(count)
            else:
                await room.wait_until(lambda room: damaged(room) == 1)
    assert values_of(subscriber) == {"var1_6": ["warm", 5]}


async def test_after_another_framing_the_first_value_decides_again(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    async with running_bridge(
        settings_of(data, subscriber.port, port_on(terminal, "key_value"))
    ) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(b"t=21.5\n")
        await subscriber.arrival_of(1)
    async with running_bridge(
        settings_of(data, subscriber.port, port_on(terminal, "json"))
    ) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(b'{"t": "warm"}\n')
        await subscriber.arrival_of(2)
    assert values_of(subscriber) == {"t": [21.5, "warm"]}


async def test_a_declared_type_is_stronger_than_a_remembered_one(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    async with running_bridge(
        settings_of(data, subscriber.port, port_on(terminal, "key_value"))
    ) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(b"t=warm\n")
        await subscriber.arrival_of(1)
    declared = port_on(terminal, "key_value", types={"t": "number"})
    async with running_bridge(settings_of(data, subscriber.port, declared)) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(b"t=21.5\n")
        await subscriber.arrival_of(2)
    assert values_of(subscriber) == {"t": ["warm", 21.5]}
