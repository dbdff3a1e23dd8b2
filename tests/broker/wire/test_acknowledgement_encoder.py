"""The encoders of acknowledgements give the same bytes as `encode`, which handles every packet."""

import pytest

from gateway.broker.wire.acknowledgement_encoder import (
    acknowledgement,
    puback,
    pubcomp,
    pubrec,
    pubrel,
)
from gateway.broker.wire.codes import NO_MATCHING_SUBSCRIBERS, PACKET_ID_NOT_FOUND, QUOTA_EXCEEDED
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.kinds import PUBACK, PUBCOMP, PUBREC, PUBREL
from gateway.broker.wire.packets import Puback, Pubcomp, Pubrec, Pubrel

every_packet_id = pytest.mark.parametrize("packet_id", [1, 2, 255, 256, 257, 0x1234, 65_535])
every_version = pytest.mark.parametrize("version", [3, 4, 5])


@every_packet_id
@every_version
def test_an_acknowledgement_of_success(packet_id: int, version: int) -> None:
    assert puback(packet_id) == encode(Puback(packet_id), version)
    assert pubrec(packet_id) == encode(Pubrec(packet_id), version)
    assert pubrel(packet_id) == encode(Pubrel(packet_id), version)
    assert pubcomp(packet_id) == encode(Pubcomp(packet_id), version)


@every_packet_id
@every_version
@pytest.mark.parametrize(
    "reason_code", [0, NO_MATCHING_SUBSCRIBERS, PACKET_ID_NOT_FOUND, QUOTA_EXCEEDED]
)
def test_an_acknowledgement_with_a_reason_code(
    packet_id: int, version: int, reason_code: int
) -> None:
    packets = {PUBACK: Puback, PUBREC: Pubrec, PUBREL: Pubrel, PUBCOMP: Pubcomp}
    for kind, packet in packets.items():
        expected = encode(packet(packet_id, reason_code), version)
        assert acknowledgement(kind, packet_id, reason_code, version) == expected
