"""Packet identifiers in flight to one broker, their order, and the exchange of each response."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from gateway.process.mqtt_client.exchanges import PACKET_ID_MAX, Exchange, Exchanges


@dataclass(frozen=True)
class Message:
    qos: int = 2


def message(qos: int = 2) -> Message:
    return Message(qos)


def started(*qos: int, window: int = 10) -> tuple[Exchanges[Message], list[Exchange[Message]]]:
    exchanges: Exchanges[Message] = Exchanges(window)
    return exchanges, [exchanges.start(n, message(each)) for n, each in enumerate(qos, 1)]


def test_qos_2_ends_at_pubcomp_behind_pubrec_and_qos_1_at_puback() -> None:
    exchanges, (two, one) = started(2, 1)
    assert exchanges.receive_puback(two.packet_id) is None
    assert exchanges.receive_pubcomp(two.packet_id) is None, "no PUBREL was sent"
    assert exchanges.receive_pubrec(two.packet_id) == (two, True)
    assert exchanges.receive_pubrec(two.packet_id) == (two, False)
    assert exchanges.receive_pubcomp(two.packet_id) is two
    assert exchanges.receive_pubrec(one.packet_id) == (None, False)
    assert exchanges.receive_puback(one.packet_id) is one
    assert len(exchanges) == 0


def test_a_refusal_ends_what_was_not_released() -> None:
    exchanges, (first, second) = started(2, 2)
    exchanges.receive_pubrec(first.packet_id)
    assert exchanges.receive_refusal(first.packet_id) is None
    assert exchanges.receive_refusal(second.packet_id) is second


def test_a_new_connection_gets_pubrels_first_and_publishes_in_order() -> None:
    exchanges, each = started(2, 1, 2)
    exchanges.receive_pubrec(each[2].packet_id)
    exchanges.begin_again()
    assert exchanges.take_unsent() == [each[2], each[0], each[1]]
    assert exchanges.take_unsent() == []


def test_a_smaller_window_holds_back_what_it_has_no_room_for() -> None:
    exchanges, each = started(1, 1, 1)
    exchanges.window = 2
    exchanges.begin_again()
    assert exchanges.free == 0
    assert exchanges.take_unsent() == each[:2]
    exchanges.receive_puback(each[0].packet_id)
    assert exchanges.take_unsent() == [each[2]]


def test_an_exchange_that_ends_unsent_is_not_sent() -> None:
    exchanges, each = started(1, 1, window=1)
    exchanges.begin_again()
    exchanges.take_unsent()
    exchanges.receive_puback(each[1].packet_id)
    exchanges.receive_puback(each[0].packet_id)
    assert exchanges.take_unsent() == []


def test_what_is_forgotten_comes_back_in_the_order_of_its_rows() -> None:
    exchanges: Exchanges[Message] = Exchanges()
    first, second = Exchange(1, 60_000, message()), Exchange(2, 3, message())
    exchanges.resume([second, first])
    assert exchanges.forget_all() == [first, second]


def test_identifiers_begin_again_after_the_last_and_skip_zero() -> None:
    exchanges: Exchanges[Message] = Exchanges(2, packet_id_max=65533)
    seen = []
    for number in range(65535):
        packet_id = exchanges.start(number, message(1)).packet_id
        assert exchanges.receive_puback(packet_id) is not None
        seen.append(packet_id)
    assert seen == [*range(1, 65534), 1, 2]


@given(st.lists(st.booleans(), max_size=200))
def test_no_packet_identifier_is_given_twice(ends: list[bool]) -> None:
    exchanges: Exchanges[Message] = Exchanges(PACKET_ID_MAX)
    exchanges.resume([Exchange(0, PACKET_ID_MAX, message(1)), Exchange(1, 1, message(1))])
    open_ids = {PACKET_ID_MAX, 1}
    for number, end in enumerate(ends, 2):
        if end and open_ids:
            packet_id = open_ids.pop()
            assert exchanges.receive_puback(packet_id) is not None
        else:
            exchange = exchanges.start(number, message(1))
            assert exchange.packet_id not in open_ids
            assert 1 <= exchange.packet_id <= PACKET_ID_MAX
            open_ids.add(exchange.packet_id)
