"""The table of packet identifiers against a dict: the same answers in the same order."""

import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.broker.core.sessions.message import Held, Message
from gateway.broker.core.sessions.packet_identifiers import SLOTS_MIN, PacketIdentifiers
from gateway.broker.core.sessions.session import Session

SESSION = Session(1, "c", True)
MESSAGE = Message(1, "t", b"\x00\x01t", b"", 2, False)

# The table has few slots at first: identifiers that are equal modulo 8, 64 and 4,096 collide.
identifiers = st.sampled_from([1, 2, 3, 9, 17, 65, 66, 4_097, 8_193, 32_769, 65_535])
steps = st.lists(
    st.tuples(st.sampled_from(["put", "put", "put", "remove", "move", "clear"]), identifiers),
    max_size=60,
)


def held(packet_id: int) -> Held:
    return Held(SESSION, packet_id, MESSAGE, 0.0)


# Once the table has grown, the slot of 17 belongs to another identifier.
@example([("put", packet_id) for packet_id in (17, 1, 3, 17, 2, 17)])
@given(steps)
@settings(max_examples=1_000)
def test_it_answers_as_a_dict_in_the_order_in_which_exchanges_were_put_in(
    taken: list[tuple[str, int]],
) -> None:
    table: PacketIdentifiers[Held] = PacketIdentifiers()
    model: dict[int, Held] = {}
    for step, packet_id in taken:
        before = model.get(packet_id)
        if step == "put":
            exchange = held(packet_id)
            model.pop(packet_id, None)
            model[packet_id] = exchange
            table.put(exchange)
        elif step == "remove":
            assert table.remove(packet_id) is (model.pop(packet_id, None) is not None)
        elif step == "move" and before is not None:
            model[packet_id] = model.pop(packet_id)
            table.move_to_end(before)
        elif step == "clear":
            model.clear()
            table.clear()
        assert len(table) == len(model)
        assert bool(table) is bool(model)
        assert table.values() == list(model.values())
        assert list(table) == list(model)
        assert table.get(packet_id) is model.get(packet_id)
        assert (packet_id in table) is (packet_id in model)


def test_all_identifiers_are_under_way_together() -> None:
    table: PacketIdentifiers[Held] = PacketIdentifiers()
    for packet_id in range(1, 65_536):
        table.put(held(packet_id))
    assert len(table) == 65_535
    assert list(table) == list(range(1, 65_536))
    assert all(packet_id in table for packet_id in range(1, 65_536))
    assert 65_536 not in table
    for packet_id in range(1, 65_536):
        assert table.remove(packet_id)
    assert len(table) == 0


def test_tables_share_nothing() -> None:
    first: PacketIdentifiers[Held] = PacketIdentifiers()
    second: PacketIdentifiers[Held] = PacketIdentifiers()
    first.put(held(1))
    assert not second
    first.clear()
    second.put(held(2))
    assert not first


@pytest.mark.parametrize("step", [1, 256, 4_096])
def test_memory_follows_the_number_of_exchanges_and_not_their_identifiers(step: int) -> None:
    table: PacketIdentifiers[Held] = PacketIdentifiers()
    for index in range(16):
        table.put(held(1 + index * step))
    # The compiled table hides its slots: only the order of the identifiers can be checked then.
    slots = getattr(table, "_slots", [])
    assert sys.getsizeof(slots) <= sys.getsizeof([None] * (8 * SLOTS_MIN))
    assert list(table) == [1 + index * step for index in range(16)]
