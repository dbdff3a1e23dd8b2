"""Inputs of real devices with flipped bits, lost bytes and cuts: no error, no mixed frames."""

import random

import pytest

from tests.bridge.protocols.input_files import INPUTS, decoder_of

NAMES = sorted(path.name for path in INPUTS.iterdir())
DAMAGED_COUNT = 150
"""Damaged variants per file."""


def damaged(stream: bytes, chance: random.Random) -> bytes:
    """Return the bytes with one to three line errors: a flipped bit, lost bytes, a cut or inserted
    bytes."""
    data = bytearray(stream)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(data) or 1)
        match chance.randrange(4):
            case 0 if data:
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                del data[at : at + chance.randint(1, 20)]
            case 2:
                data[at:at] = chance.randbytes(chance.randint(1, 5))
            case _:
                del data[at:]
    return bytes(data)


@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_input_never_raises(name: str) -> None:
    stream = (INPUTS / name).read_bytes()
    chance = random.Random(name)  # noqa: S311 - the same damage in each run
    for _ in range(DAMAGED_COUNT):
        decoder = decoder_of(name)
        decoder.begin(mid_line=chance.random() < 0.5)
        for part in (damaged(stream, chance), damaged(stream, chance), stream):
            decoder.feed(part)
        decoder.flush()


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(("p1-", "sml-"))])
def test_of_damaged_inputs_with_a_crc_only_whole_ones_are_read(name: str) -> None:
    stream = (INPUTS / name).read_bytes()
    whole = decoder_of(name).feed(stream)
    chance = random.Random(name)  # noqa: S311 - the same damage in each run
    for _ in range(DAMAGED_COUNT):
        decoder = decoder_of(name)
        found = decoder.feed(damaged(stream, chance) + damaged(stream, chance)) + decoder.flush()
        found += decoder.feed(stream)
        assert found[-len(whole) :] == whole
        assert all(frame in whole for frame in found)
