"""The broker's packets since the last batch, in order, and the packets to send after a commit."""

import pytest
from firmware_bridge.outbox.settlement import (
    Connected,
    Disconnected,
    Pubcomp,
    Pubrec,
    SessionLost,
    Settlement,
    packet_of,
)
from firmware_bridge.readings.publications import Publication

from gateway.broker.wire.acknowledgement_encoder import pubrel
from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.packets import Publish, Pubrel
from gateway.process.mqtt_client.exchanges import Exchange, Exchanges


class Wire:
    """A connection that records the packets sent on it."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def send(self, packet: bytes) -> None:
        self.sent.append(packet)


def two_in_flight() -> tuple[Exchanges[Publication], Exchange[Publication], Exchange[Publication]]:
    exchanges: Exchanges[Publication] = Exchanges(window=10)
    return (
        exchanges,
        exchanges.start(1, Publication("t", b"a")),
        exchanges.start(2, Publication("t", b"b")),
    )


def test_a_pubrec_has_to_be_durable_and_a_pubcomp_not() -> None:
    exchanges, first, _ = two_in_flight()
    wire = Wire()
    settlement = Settlement(exchanges, wire.send)
    settlement.apply(Pubrec(first.packet_id))
    assert settlement.needs_commit
    assert wire.sent == []
    settlement.send_durable([])
    assert wire.sent == [pubrel(first.packet_id)]
    later = Settlement(exchanges, wire.send)
    later.apply(Pubcomp(first.packet_id))
    assert (later.completed, later.needs_commit) == ([first], False)


def test_a_pubcomp_of_no_exchange_is_counted_and_an_unknown_pubrec_answered() -> None:
    exchanges, first, _ = two_in_flight()
    wire = Wire()
    settlement = Settlement(exchanges, wire.send)
    settlement.apply(Pubcomp(first.packet_id))
    settlement.apply(Pubrec(99))
    settlement.send_durable([])
    assert (settlement.unexpected_answers, settlement.completed) == (1, [])
    assert wire.sent == [pubrel(99)]


def test_on_a_new_connection_everything_in_flight_goes_out_again_before_what_is_new() -> None:
    exchanges, first, second = two_in_flight()
    old, new = Wire(), Wire()
    settlement = Settlement(exchanges, old.send)
    settlement.apply(Pubrec(second.packet_id))
    settlement.apply(Connected(new.send, session_present=True))
    third = exchanges.start(3, Publication("t", b"c"))
    settlement.send_durable([third])
    assert old.sent == []
    assert new.sent == [
        pubrel(second.packet_id),
        packet_of(first, again=True),
        packet_of(third, again=False),
    ]


def test_without_a_session_every_exchange_is_over() -> None:
    for event in (Connected(Wire().send, session_present=False), SessionLost()):
        exchanges, first, second = two_in_flight()
        settlement = Settlement(exchanges, Wire().send)
        settlement.apply(Pubrec(first.packet_id))
        settlement.apply(event)
        assert (settlement.returned, settlement.released) == ([first, second], [])
        assert settlement.needs_commit
        assert len(exchanges) == 0


def test_the_end_of_an_older_connection_does_not_end_the_present_one() -> None:
    old, new = Wire(), Wire()
    settlement = Settlement(Exchanges(window=10), old.send)
    settlement.apply(Connected(new.send, session_present=True))
    settlement.apply(Disconnected(old.send))
    assert settlement.send == new.send
    settlement.apply(Disconnected(new.send))
    assert settlement.send is None


@pytest.mark.parametrize("retain", [False, True])
def test_a_publish_sent_again_carries_dup_and_a_released_one_becomes_pubrel(retain: bool) -> None:
    exchange = Exchange(1, 7, Publication("sensors/a/b", b"payload", retain=retain))
    first, again = (decoded(packet_of(exchange, again=flag)) for flag in (False, True))
    assert isinstance(first, Publish)
    assert (first.topic, first.payload, first.qos) == ("sensors/a/b", b"payload", 2)
    assert (first.dup, first.retain, first.packet_id) == (False, retain, 7)
    assert isinstance(again, Publish)
    assert (again.dup, again.retain) == (True, retain)
    exchange.released = True
    assert decoded(packet_of(exchange, again=True)) == Pubrel(7)


def decoded(data: bytes) -> object:
    (packet,) = Decoder(1 << 20, 4).feed(data)
    return packet
