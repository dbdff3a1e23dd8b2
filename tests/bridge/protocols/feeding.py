"""What every framing promises, in the form of checks for the tests of each."""

from collections.abc import Callable, Sequence

from firmware_bridge.protocols.frame import Frame, Tally
from firmware_bridge.protocols.interface import Decoder


def outcome_of(decoder: Decoder, pieces: Sequence[bytes]) -> tuple[list[Frame], Tally]:
    """All frames of the pieces and of the silence behind them, and what was none."""
    frames = [frame for piece in pieces for frame in decoder.feed(piece)] + decoder.flush()
    return frames, decoder.tally


def check_any_pieces(make: Callable[[], Decoder], stream: bytes) -> list[Frame]:
    """The same comes of a stream as a whole and byte by byte."""
    whole = outcome_of(make(), [stream])
    assert outcome_of(make(), [bytes((byte,)) for byte in stream]) == whole
    return whole[0]


def check_good_frame_survives(
    make: Callable[[], Decoder], noise: Sequence[bytes], good: bytes, expected: Sequence[Frame]
) -> None:
    """Nothing raises, and of what comes behind noise and a silence nothing is lost."""
    decoder = make()
    for piece in noise:
        decoder.feed(piece)
    decoder.flush()
    found = decoder.feed(good) + decoder.flush()
    assert found[-len(expected) :] == list(expected)
