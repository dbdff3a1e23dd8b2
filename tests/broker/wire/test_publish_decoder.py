"""Decoding of PUBLISH: the vectors in the table, the bytes that are kept, and the empty topic."""

import pytest

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.kinds import PUBLISH
from gateway.broker.wire.packets import Publish
from tests.broker.wire.alternative_vectors import ALTERNATIVES
from tests.broker.wire.notation import frame
from tests.broker.wire.vector_cases import Case, Reading, cases, decoder_of, every_reading
from tests.broker.wire.vectors import PUBLISHES, VECTORS

MAX_PACKET_SIZE_BYTES = 1_048_576


@every_reading
@pytest.mark.parametrize("case", cases([*VECTORS, *ALTERNATIVES], PUBLISH))
def test_a_publish_is_decoded_however_its_bytes_come(case: Case, read: Reading) -> None:
    read(case)


@pytest.mark.parametrize("case", cases(PUBLISHES))
def test_a_publish_keeps_the_bytes_that_can_be_sent_on(case: Case) -> None:
    packet = decoder_of(case).feed(case[0].wire)[0]
    assert isinstance(packet, Publish)
    assert packet.frame == (b"" if packet.qos else case[0].wire)
    topic = packet.topic.encode()
    assert packet.topic_field == len(topic).to_bytes(2, "big") + topic


def test_an_empty_topic_is_for_aliases_of_mqtt_5_only() -> None:
    alias = frame("30", "0000 03 230001 'x'")
    decoder = Decoder(MAX_PACKET_SIZE_BYTES, 5)
    (publish,) = decoder.feed(alias)
    assert isinstance(publish, Publish)
    assert publish.properties is not None
    assert publish.properties.topic_alias == 1
    decoder = Decoder(MAX_PACKET_SIZE_BYTES, 4)
    decoder.feed(alias)
    assert decoder.error is not None
    assert decoder.error.reason == "topic_name"
