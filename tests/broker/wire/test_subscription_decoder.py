"""Decoding of SUBSCRIBE and UNSUBSCRIBE: the vectors in the table, and many filters."""

import pytest

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.kinds import SUBSCRIBE, UNSUBSCRIBE
from gateway.broker.wire.limits import FILTERS_PER_PACKET_MAX
from gateway.broker.wire.packets import Subscribe, Subscription, Unsubscribe
from tests.broker.wire.alternative_vectors import ALTERNATIVES
from tests.broker.wire.vector_cases import Case, Reading, cases, every_reading
from tests.broker.wire.vectors import VECTORS


@every_reading
@pytest.mark.parametrize("case", cases([*VECTORS, *ALTERNATIVES], SUBSCRIBE, UNSUBSCRIBE))
def test_a_request_is_decoded_however_its_bytes_come(case: Case, read: Reading) -> None:
    read(case)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_as_many_filters_as_one_packet_may_have_are_read(version: int) -> None:
    filters = ["#"] * FILTERS_PER_PACKET_MAX
    for packet in (
        Subscribe(1, [Subscription(topic_filter, 1) for topic_filter in filters]),
        Unsubscribe(1, filters),
    ):
        decoder = Decoder(1 << 20, version)
        assert decoder.feed(encode(packet, version)) == [packet]


def test_options_are_taken_with_each_of_their_bits_or_refused() -> None:
    for options in range(256):
        decoder = Decoder(1 << 20, 5)
        packets = decoder.feed(b"\x82\x07\x00\x01\x00\x00\x01a" + bytes([options]))
        qos, retain_handling = options & 3, options >> 4 & 3
        if options & 0xC0 or qos == 3 or retain_handling == 3:
            assert (packets, decoder.error is not None) == ([], True), f"{options:08b}"
        else:
            expected = Subscription("a", qos, options & 4 != 0, options & 8 != 0, retain_handling)
            assert packets == [Subscribe(1, [expected])], f"{options:08b}"
