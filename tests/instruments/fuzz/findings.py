"""The fuzzer's earlier findings: inputs that once raised, which `test_fuzz.py` replays.

If a finding has a meaning in MQTT, the room of its fix has a separate test or vector. An input
keeps its meaning only while the actions and palettes of its target keep their order, so new ones
must be added at the end.
"""

from typing import Final, NamedTuple


class Finding(NamedTuple):
    """An input, and its fault in words."""

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
        bytes.fromhex("00 03 08 01 00 1e 01 01 04 00 09 02 08 02 00 1e 01 02 04 00 09"),
    ),
    Finding(
        "a file with a damaged header was placed by an old batch in it, before a whole file",
        "journal",
        bytes.fromhex("00 06 08 00 03 1e 26 00 04 7e 09"),
    ),
    Finding(
        "which of two copies of a batch was read depended on which headers were readable",
        "journal",
        bytes.fromhex(
            "00 02 08 01 00 1e ff ff ff ff 24 06 08 00 03 1e 01 00 04 7e 09 03 08 1e 00 08 01 00"
            "04 00 09 01 08 00 08 1e 01 00 04 00 09"
        ),
    ),
]
