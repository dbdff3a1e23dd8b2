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
    Finding(
        "an unreadable file before one that a cut left empty was not the journal's end",
        "journal",
        bytes.fromhex("05 03 08 01 00 1e 01 01 04 00 09 02 08 02 00 1e 01 02 04 00 09"),
    ),
]
