"""Reader for the files in `inputs/`: bytes from devices that deviate from their standard.

The files were written for this project after public bug reports. Their numbers and identifiers are
invented.
"""

from pathlib import Path
from typing import Any

from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.interface import Decoder, DecoderSettings
from firmware_bridge.protocols.table import PROTOCOLS

from tests.bridge.protocols.feeding import check_any_pieces

INPUTS = Path(__file__).with_name("inputs")
READ: dict[str, tuple[str, dict[str, Any]]] = {
    "p1": ("dsmr", {}),
    "d0": ("dsmr", {"crc": False}),
    "sml": ("sml", {}),
    "arduino": ("key_value", {}),
    "esp32": ("csv", {"columns": tuple("abcdef")}),
    "json": ("json", {}),
    "nmea": ("nmea", {"checksum_required": False}),
    "mysensors": ("mysensors", {}),
    "vedirect": ("vedirect", {}),
    "linky": ("teleinfo", {}),
}
"""The protocol of a file and its settings, by the first word of the file's name."""


def decoder_of(name: str) -> Decoder:
    framing, keys = READ[name.partition("-")[0].partition(".")[0]]
    settings = PROTOCOLS[framing](**keys)
    assert isinstance(settings, DecoderSettings)
    return settings.decoder()


def read(name: str) -> tuple[list[Frame], dict[str, int], dict[str, int]]:
    """Return a file's frames, and the counts of damaged and left-out frames.

    Asserts that the frames do not depend on how the bytes are split.
    """
    stream = (INPUTS / name).read_bytes()
    decoder = decoder_of(name)
    frames = decoder.feed(stream) + decoder.flush()
    assert check_any_pieces(lambda: decoder_of(name), stream) == frames
    return frames, dict(decoder.tally.damaged), dict(decoder.tally.skipped)


def only_frame_of(name: str) -> Frame:
    """Return the frame of a file. Asserts that nothing was damaged or left out."""
    (frame,), damaged, skipped = read(name)
    assert (damaged, skipped) == ({}, {})
    return frame


def values(frame: Frame) -> dict[str, object]:
    return {each.name: each.value for found in frame.quantities.values() for each in found}
