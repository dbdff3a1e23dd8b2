"""Bursts contain the same packets as the standard encoder builds, one after another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.wire.encoder import encode
from gateway.broker.wire.kinds import PUBACK, PUBCOMP, PUBREC, PUBREL
from gateway.broker.wire.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from gateway.tools.bench.frames import (
    ACKNOWLEDGEMENTS,
    BLOCK_MESSAGES,
    Frames,
    acknowledgements_of,
    equal_prefix,
    identifier_of,
    payload_of,
)

ACKNOWLEDGEMENT_OF = {PUBACK: Puback, PUBREC: Pubrec, PUBREL: Pubrel, PUBCOMP: Pubcomp}
sequences = st.one_of(
    st.integers(0, 300),
    st.integers(BLOCK_MESSAGES - 50, BLOCK_MESSAGES + 50),
    st.integers(65_536 - 50, 65_536 + 50),
    st.integers(0, (1 << 64) - 1000),
)


def frame_of(
    sequence: int, *, qos: int, version: int, size: int, identifier: int | None = None
) -> bytes:
    packet_id = 0 if not qos else identifier or identifier_of(sequence)
    payload = payload_of(7, sequence, size)
    return encode(Publish("bench/x", payload, qos, False, False, packet_id), version)


@given(
    sequence=sequences,
    count=st.integers(1, 40),
    qos=st.integers(0, 2),
    version=st.sampled_from([4, 5]),
    size=st.integers(10, 300),
)
def test_a_burst_is_the_encoded_messages_one_after_another(
    sequence: int, count: int, qos: int, version: int, size: int
) -> None:
    frames = Frames(
        topic="bench/x", publisher=7, payload_bytes=size, qos=qos, version=version, rows=64
    )
    count = frames.rows_of(sequence, count)
    burst = frames.burst_of(sequence, count)
    assert bytes(burst) == b"".join(
        frame_of(sequence + index, qos=qos, version=version, size=size) for index in range(count)
    )
    assert frames.sequence_in(bytearray(burst), 0) == sequence


@given(
    sequence=sequences,
    identifiers=st.lists(st.integers(1, 65_535), min_size=1, max_size=40),
    version=st.sampled_from([4, 5]),
)
def test_what_is_expected_takes_the_identifiers_that_came(
    sequence: int, identifiers: list[int], version: int
) -> None:
    frames = Frames(topic="bench/x", publisher=7, payload_bytes=64, qos=2, version=version, rows=64)
    identifiers = identifiers[: frames.rows_of(sequence, len(identifiers))]
    columns = (
        bytearray(packet_id >> 8 for packet_id in identifiers),
        bytearray(packet_id & 0xFF for packet_id in identifiers),
    )
    expected = frames.expected_of(sequence, len(identifiers), columns)
    assert bytes(expected) == b"".join(
        frame_of(sequence + index, qos=2, version=version, size=64, identifier=packet_id)
        for index, packet_id in enumerate(identifiers)
    )


@pytest.mark.parametrize("kind", ACKNOWLEDGEMENT_OF)
def test_acknowledgements_are_the_encoded_ones_in_the_order_of_the_identifiers(kind: int) -> None:
    packets = [ACKNOWLEDGEMENT_OF[kind](packet_id) for packet_id in range(1, BLOCK_MESSAGES + 1)]
    encoded = b"".join(encode(packet, 4) for packet in packets)
    assert bytes(ACKNOWLEDGEMENTS[kind]) == encoded
    assert bytes(acknowledgements_of(kind, bytearray(b"\x12\x00"), bytearray(b"\x34\x01"))) == (
        encode(ACKNOWLEDGEMENT_OF[kind](0x1234), 4) + encode(ACKNOWLEDGEMENT_OF[kind](1), 4)
    )


@given(st.binary(max_size=20))
def test_an_equal_prefix_ends_at_the_first_other_byte(column: bytes) -> None:
    count = equal_prefix(bytearray(column))
    assert column[:count] == column[:1] * count
    assert column[count : count + 1] != column[:1] or not column
