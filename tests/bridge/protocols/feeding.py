"""Checks that every framing has to pass, for the tests of each framing."""

from collections.abc import Callable, Sequence

from firmware_bridge.protocols.frame import Frame, Tally
from firmware_bridge.protocols.interface import Decoder


def outcome_of(decoder: Decoder, pieces: Sequence[bytes]) -> tuple[list[Frame], Tally]:
    """Return all frames from the pieces and the silence after them, and the counts of
    other bytes."""
    frames = [frame for piece in pieces for frame in decoder.feed(piece)] + decoder.flush()
    return frames, decoder.tally


def check_any_pieces(make: Callable[[], Decoder], stream: bytes) -> list[Frame]:
    """Check that a stream gives the same frames as a whole and byte by byte; return the frames."""
    whole = outcome_of(make(), [stream])
    assert outcome_of(make(), [bytes((byte,)) for byte in stream]) == whole
    return whole[0]


def check_good_frame_survives(
    make: Callable[[], Decoder], noise: Sequence[bytes], good: bytes, expected: Sequence[Frame]
) -> None:
    """Check that noise raises no error, and that all frames after noise and a silence are found."""
    decoder = make()
    for piece in noise:
        decoder.feed(piece)
    decoder.flush()
    found = decoder.feed(good) + decoder.flush()
    assert found[-len(expected) :] == list(expected)
