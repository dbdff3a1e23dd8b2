"""Messages that one broker has sent and that were not acknowledged yet."""

from gateway.broker.wire.acknowledgement_encoder import puback, pubrec
from gateway.uplink import reception
from gateway.uplink.message import Message
from gateway.uplink.reception import Arrival, Reception


def arrival(packet_id: int, qos: int = 2, size_bytes: int = 10) -> Arrival:
    return Arrival(Message("t", bytes(size_bytes), qos, False, b"", None), packet_id)


def test_what_is_stored_is_held_until_its_pubrel_and_a_repeat_is_known() -> None:
    side = Reception({5})
    assert side.is_repeat(5)
    assert not side.is_repeat(6)
    side.add(arrival(6))
    assert side.is_repeat(6), "it waits to be stored"
    taken = side.fitting(10_000, is_empty=False)
    side.stored(taken)
    assert side.held == {5, 6}
    assert side.repeats == 2


def test_qos_1_is_not_held_and_each_is_answered_as_its_qos_wants() -> None:
    side = Reception(set())
    side.add(arrival(6, qos=1))
    (taken,) = side.fitting(10_000, is_empty=False)
    assert taken.answer() == puback(6)
    assert arrival(7).answer() == pubrec(7)
    side.stored([taken])
    assert side.held == set()


def test_only_the_first_that_fit_are_taken_and_one_where_nothing_is_stored() -> None:
    side = Reception(set())
    small, large, behind = arrival(1), arrival(2, size_bytes=1000), arrival(3)
    for each in (small, large, behind):
        side.add(each)
    assert side.fitting(500, is_empty=False) == [small]
    assert side.fitting(1, is_empty=False) == []
    assert side.fitting(1, is_empty=True) == [small]


def test_a_connection_that_ends_takes_what_is_not_stored_with_it() -> None:
    side = Reception(set())
    side.add(arrival(1))
    side.drop_arrivals()
    assert (list(side.arrivals), side.bytes_waiting, side.is_repeat(1)) == ([], 0, False)


def test_memory_is_bounded() -> None:
    side = Reception(set())
    side.add(arrival(1, size_bytes=reception.HELD_BACK_BYTES_MAX))
    assert side.is_overfull
