"""Totals of retained messages, and of held messages that will be retained."""

from gateway.broker.core.owners import Owners
from gateway.broker.core.retained_totals import RetainedTotals, place_bytes_of
from gateway.broker.core.sessions.message import Message
from gateway.broker.wire.values import topic_field_of


def message_of(number: int, topic: str, payload: bytes, *, has_place: bool = False) -> Message:
    """Return a message to be retained, owned by "ann"."""
    message = Message(number, topic, topic_field_of(topic), payload, 1, True)
    message.has_place = has_place
    return message


def test_what_is_added_is_subtracted_when_it_is_removed() -> None:
    owners = Owners()
    totals = RetainedTotals(owners)
    messages = [message_of(1, "t", b"x"), message_of(2, "a/b", bytes(1_000))]
    for message in messages:
        message.owner = owners.get("ann")
        totals.add(message)
    assert totals.memory_bytes == sum(message.retained_bytes() for message in messages)
    assert totals.size_bytes == sum(message.size_bytes() for message in messages)
    assert owners.get("ann").retained == 2
    for message in messages:
        totals.remove(message)
    assert (totals.memory_bytes, totals.size_bytes) == (0, 0)
    assert owners.get("ann").retained == 0


def test_a_held_message_counts_only_if_it_has_a_place() -> None:
    owners = Owners()
    totals = RetainedTotals(owners)
    with_place = message_of(1, "t", b"x", has_place=True)
    with_place.owner = owners.get("ann")
    for message in (with_place, message_of(2, "t", b"x")):
        totals.held(message)
    assert (totals.places, totals.places_bytes) == (1, place_bytes_of(with_place))
    assert owners.get("ann").retained == 1
    for message in (with_place, message_of(2, "t", b"x")):
        totals.released(message)
    assert (totals.places, totals.places_bytes) == (0, 0)
    assert owners.get("ann").retained == 0


def test_a_place_is_no_smaller_than_the_message_that_takes_it() -> None:
    message = message_of(1, "a/b/c", b"x")
    assert place_bytes_of(message) > message.retained_bytes()
    assert place_bytes_of(message_of(1, "a/b/c/d", b"x")) > place_bytes_of(message)
