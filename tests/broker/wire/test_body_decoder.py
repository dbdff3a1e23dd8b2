"""Decoding of packets without a decoder of their own, with the vectors from the table."""

import pytest

from gateway.broker.wire import kinds
from gateway.broker.wire.body_decoder import acknowledgement_of
from gateway.broker.wire.packets import Puback, Pubcomp, Pubrec, Pubrel
from tests.broker.wire.alternative_vectors import ALTERNATIVES
from tests.broker.wire.vector_cases import Case, Reading, cases, every_reading
from tests.broker.wire.vectors import VECTORS

OTHERS = {kinds.CONNECT, kinds.PUBLISH, kinds.SUBSCRIBE, kinds.UNSUBSCRIBE}
KINDS = sorted(set(range(1, 16)) - OTHERS)


@every_reading
@pytest.mark.parametrize("case", cases([*VECTORS, *ALTERNATIVES], *KINDS))
def test_a_packet_without_a_decoder_of_its_own_is_decoded_however_its_bytes_come(
    case: Case, read: Reading
) -> None:
    read(case)


def test_every_packet_type_is_in_the_table() -> None:
    assert {vector.packet.kind for vector in VECTORS} == set(range(1, 16))


def test_an_acknowledgement_has_the_type_that_its_kind_states() -> None:
    made = [acknowledgement_of(kind, 7, 0x92) for kind in range(kinds.PUBACK, kinds.SUBSCRIBE)]
    assert made == [Puback(7, 0x92), Pubrec(7, 0x92), Pubrel(7, 0x92), Pubcomp(7, 0x92)]
