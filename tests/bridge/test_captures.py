"""Recordings of real receivers, replayed through a pseudo-terminal at full speed."""

import json
import re
from dataclasses import dataclass, field
from functools import reduce
from operator import xor
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.broker import Subscriber
from tests.bridge.nmea_oracle import ONLY_OURS, fields_of, same
from tests.bridge.running import port_of, running_bridge, settings_of
from tests.bridge.terminal import Terminal


@dataclass(frozen=True)
class Recording:
    """One file, with the counts of its damaged and foreign parts.

    Everything else is valid sentences.
    """

    name: str
    damaged: dict[str, int] = field(default_factory=dict)
    foreign: dict[str, int] = field(default_factory=dict)


RECORDINGS = [
    Recording("garmin-geko201.raw", damaged={"truncated": 1}),
    Recording("gp-320fw-2019-04-06-overflow.raw"),
    Recording("quectel-l76k-nmea.raw"),
    Recording("telit-he910.raw"),
    Recording("ublox-neo-m9n-nmea.raw"),
    # Comment lines were cut out of the middle of binary frames, which damaged three frames.
    Recording("ublox-zed-f9t-ubx_nmea_l5.raw", foreign={"ubx": 80, "ubx_damaged": 3, "noise": 6}),
]


def sentences_of(recording: bytes) -> list[str]:
    """Return the sentences with a valid checksum, found by a simple regular expression."""
    return [
        match[1].decode()
        for match in re.finditer(rb"\$([^$\r\n]*)\*([0-9A-F]{2})", recording)
        if reduce(xor, match[1], 0) == int(match[2], 16)
    ]


def assert_equal_to_the_oracle(pack: list[dict[str, Any]], sentence: str) -> None:
    """Compare the names, values, units and times of a pack with those of pynmea2, in both
    directions."""
    assert len({record["t"] for record in pack}) == 1, "a sentence arrives at one time"
    names = [record["n"].split("/") for record in pack]
    assert len({*map(tuple, names)}) == len(names)
    (formatter,) = {quantity for _, quantity, _ in names}
    ours = {
        name: (record.get("v", record.get("vs")), record.get("u"))
        for (_, _, name), record in zip(names, pack, strict=True)
        if name not in ("sentence", *ONLY_OURS.get(formatter, ()))
    }
    theirs = fields_of(formatter, sentence)
    assert same(ours, theirs), (sentence, ours, theirs)


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
async def test_every_good_sentence_of_a_recording_becomes_one_payload_in_order(
    recording: Recording,
    captures: Path,
    subscriber: Subscriber,
    terminal: Terminal,
    tmp_path: Path,
) -> None:
    recorded = (captures / "nmea" / recording.name).read_bytes()
    sentences = sentences_of(recorded)
    port = port_of("gps", terminal.link, "nmea")
    async with running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room:
        await room.wait_for_port("gps", "open")
        await terminal.write(recorded)
        await subscriber.arrival_of(len(sentences))
        await room.wait_until(lambda room: room.port("gps")["bytes"] == len(recorded))
        await room.wait_until(lambda room: room.port("gps")["damaged"] == recording.damaged)
        await room.wait_until(lambda room: room.status["outbox"]["published"] == len(sentences))
        assert room.port("gps")["foreign"] == recording.foreign
        assert (room.status["outbox"]["waiting"], room.status["outbox"]["in_flight"]) == (0, 0)
    records = subscriber.records()
    assert [record["vs"] for record in records] == sentences
    for (_, payload), sentence in zip(subscriber.messages, sentences, strict=True):
        assert_equal_to_the_oracle(json.loads(payload), sentence)
    assert [record["sequence"] for record in records] == list(range(1, len(sentences) + 1))


def test_the_recordings_of_the_folder_are_all_replayed(captures: Path) -> None:
    assert sorted(path.name for path in (captures / "nmea").iterdir()) == [
        recording.name for recording in RECORDINGS
    ]
