"""The QoS 2 exchanges: identifiers, order, and acknowledgements that belong to others."""

import pytest
from firmware_bridge.outbox.exchanges import PACKET_ID_MAX, Exchange, Exchanges
from firmware_bridge.readings.publications import Publication

from gateway.wire.decoder import Decoder
from gateway.wire.packets import Publish, Pubrel


def test_an_identifier_in_use_is_never_given_again() -> None:
    exchanges = Exchanges(window=10)
    exchanges.resume([Exchange(1, 1, Publication("t", b"")), Exchange(2, 3, Publication("t", b""))])
    started = [exchanges.start(number, Publication("t", b"")).packet_id for number in (3, 4, 5)]
    assert started == [2, 4, 5]


def test_identifiers_begin_again_behind_the_last_and_skip_zero() -> None:
    exchanges = Exchanges(window=2)
    seen = []
    for number in range(PACKET_ID_MAX + 2):
        packet_id = exchanges.start(number, Publication("t", b"")).packet_id
        exchanges.receive_pubrec(packet_id)
        assert exchanges.receive_pubcomp(packet_id) is not None
        seen.append(packet_id)
    assert seen == [*range(1, PACKET_ID_MAX + 1), 1, 2]


def test_the_window_counts_what_an_earlier_run_left() -> None:
    exchanges = Exchanges(window=2)
    exchanges.resume(Exchange(number, number, Publication("t", b"")) for number in (1, 2, 3))
    assert exchanges.free == 0
    exchanges.receive_pubrec(1)
    exchanges.receive_pubcomp(1)
    exchanges.receive_pubrec(2)
    exchanges.receive_pubcomp(2)
    assert exchanges.free == 1


def test_a_pubcomp_before_pubrec_completes_nothing() -> None:
    exchanges = Exchanges(window=1)
    packet_id = exchanges.start(1, Publication("t", b"")).packet_id
    assert exchanges.receive_pubcomp(packet_id) is None
    assert len(exchanges) == 1


@pytest.mark.parametrize("retain", [False, True])
def test_a_publish_sent_again_carries_dup_and_a_released_one_becomes_pubrel(retain: bool) -> None:
    publication = Publication("sensors/a/b", b"payload", retain=retain)
    exchange = Exchange(1, 7, publication)
    first, again = (_decoded(exchange.packet(again=flag)) for flag in (False, True))
    assert isinstance(first, Publish)
    assert (first.topic, first.payload, first.qos) == ("sensors/a/b", b"payload", 2)
    assert (first.dup, first.retain, first.packet_id) == (False, retain, 7)
    assert isinstance(again, Publish)
    assert (again.dup, again.retain) == (True, retain)
    exchange.released = True
    assert _decoded(exchange.packet(again=True)) == Pubrel(7)


def _decoded(data: bytes) -> object:
    (packet,) = Decoder(1 << 20, 4).feed(data)
    return packet
