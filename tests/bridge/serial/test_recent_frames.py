"""The latest frames of a port: which bytes are stored, and which state each frame has."""

from collections.abc import Sequence
from typing import Any

import pytest
from firmware_bridge.protocols.frame import Damage, Frame, Refused
from firmware_bridge.protocols.interface import Decoder, DecoderSettings
from firmware_bridge.protocols.json_lines import JsonLines
from firmware_bridge.protocols.nmea import Nmea
from firmware_bridge.serial.recent_frames import FRAME_BYTES_KEPT, FRAMES_KEPT, RecentFrames

READING = b'{"temperature": 21.5}\n'


def states(recent: RecentFrames) -> list[tuple[str, str]]:
    """Return state and text of each entry, newest first."""
    return [(each["state"], each["text"]) for each in recent.as_json({"temperature": "Cel"})]


def read(recent: RecentFrames, decoder: Decoder, *parts: bytes) -> None:
    for part in parts:
        recent.received(part)
        recent.decoded(decoder.feed(part), decoder.tally)


def decoder_of(settings: DecoderSettings) -> Decoder:
    decoder = settings.decoder()
    decoder.begin(mid_line=False)
    return decoder


def test_an_entry_has_the_bytes_up_to_its_frame_and_the_values() -> None:
    recent, decoder = RecentFrames(), decoder_of(JsonLines())
    read(recent, decoder, READING[:5], READING[5:], b"[no]\n", READING * 6)
    assert states(recent) == [
        ("sound", "temperature=21.5 Cel; and 5 more"),
        ("damaged", recent.as_json({})[1]["text"]),
        ("sound", "temperature=21.5 Cel"),
    ]
    newest, damaged, first = recent.as_json({})
    assert bytes.fromhex(first["hex"]) == READING
    assert bytes.fromhex(damaged["hex"]) == b"[no]\n"
    assert damaged["text"]
    assert newest["bytes"] == 6 * len(READING)


def test_noise_is_foreign_and_a_wrong_checksum_is_damage() -> None:
    recent, decoder = RecentFrames(), decoder_of(Nmea())
    read(recent, decoder, b"\x00\xff boot\r\n", b"$GPGGA,1*00\r\n")
    found = states(recent)
    assert [state for state, _ in found] == ["damaged", "foreign"]
    assert "checksum" in found[0][1]


def test_requests_and_answers_have_entries_and_so_have_unasked_bytes() -> None:
    recent = RecentFrames()
    recent.received(b"late")
    outcomes: Sequence[Any] = (Frame({}, device="meter"), Damage("no_answer"), Refused("exception"))
    for outcome in outcomes:
        recent.asked(b"\x01\x03", "meter: voltage")
        recent.received(b"\x01")
        recent.answered(outcome)
    request = ("request", "meter: voltage")
    assert states(recent) == [
        ("refused", "exception"),
        request,
        ("damaged", "no_answer"),
        request,
        ("sound", "meter"),
        request,
        ("foreign", "not requested, or late"),
    ]


@pytest.mark.parametrize("part", [b"x" * 4_096, b"x"])
def test_memory_is_bounded_however_bytes_arrive(part: bytes) -> None:
    recent, decoder = RecentFrames(), decoder_of(JsonLines())
    for _ in range(3_000 // len(part) + 1):
        read(recent, decoder, part)
    read(recent, decoder, *[b"\n", READING] * 30)
    found = recent.as_json({})
    assert len(found) == FRAMES_KEPT
    recent.begin()
    recent.received(b"y" * 10_000)
    recent.decoded([Frame({})], decoder.tally)
    newest = recent.as_json({})[0]
    assert (len(newest["hex"]), newest["bytes"]) == (2 * FRAME_BYTES_KEPT, 10_000)
