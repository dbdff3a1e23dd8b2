"""What the fuzzer has found so far, as inputs that once raised; `test_fuzz.py` replays them.

What a finding meant in the words of MQTT has its own test or vector in the room it was mended in.
An input keeps its meaning while the actions and palettes of its target stay in their order: add to
them at the end.
"""

from typing import Final, NamedTuple


class Finding(NamedTuple):
    """One input and what it showed."""

    name: str
    target: str
    data: bytes


FOUND: Final = [
    Finding(
        "a refusal larger than the client's maximum packet size",
        "connection",
        bytes.fromhex("00 02 06 00 00 00 44 00 01"),
    ),
]
