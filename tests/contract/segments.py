"""Segments built for tests from the contract alone (docs/formats/session-log.md).

This module shares no code with the gateway's writer or the Spark job's reader, because both are
tested against it. Every field can be made wrong on purpose.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backports import zstd
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

Event = Mapping[str, Any]

BOOT = "0f3a5c7e9b1d2f40"
STORE = "77ab33cd55ef1102"
TIME_MS = 1_763_715_138_250


SEED = bytes(range(32))
"""The private key's seed with which tests sign by default."""
OTHER_SEED = bytes(range(32, 64))


@dataclass(frozen=True)
class Segment:
    """A sealed segment: its file name and its content."""

    name: str
    content: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    def write_to(self, directory: Path) -> Path:
        path = directory / self.name
        path.write_bytes(self.content)
        return path


def json_line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def compressed(text: bytes, *, checksum: bool = True) -> bytes:
    return zstd.compress(text, options={zstd.CompressionParameter.checksum_flag: int(checksum)})


def segment_name(
    content: bytes, *, gateway: str, boot: str, segment: int, first: int, last: int
) -> str:
    digest = hashlib.sha256(content).hexdigest()
    return f"{gateway}.{boot}.{segment:08d}.{first:012d}-{last:012d}.{digest}.jsonl.zst"


def public_key_of(seed: bytes) -> str:
    key = Ed25519PrivateKey.from_private_bytes(seed)
    return key.public_key().public_bytes_raw().hex()


def signature_fields(
    seed: bytes, *, gateway: str, segment: int, first: int, last: int, sha256: str
) -> dict[str, str]:
    """Return the two footer fields that exist only in signed segments."""
    text = f"oncegate-session-log-signature-1\n{gateway}\n{segment}\n{first}\n{last}\n{sha256}\n"
    signature = Ed25519PrivateKey.from_private_bytes(seed).sign(text.encode())
    return {"public_key": public_key_of(seed), "signature": signature.hex()}


def numbered(events: Iterable[Event], first_sequence: int, time_ms: int = TIME_MS) -> list[Event]:
    """Return the events with `sequence` and `time` (10 ms apart) added where they are missing."""
    return [
        {"sequence": first_sequence + index, "time": time_ms + 10 * index, **event}
        for index, event in enumerate(events)
    ]


def sealed(
    lines: Iterable[Event | bytes],
    *,
    first_sequence: int,
    gateway: str = "gw-1",
    boot: str = BOOT,
    store: str = STORE,
    segment: int = 1,
    clock: str = "synchronised",
    previous_sha256: str | None = None,
    header: Mapping[str, Any] | None = None,
    footer: Mapping[str, Any] | None = None,
    checksum: bool = True,
    seed: bytes | None = None,
) -> Segment:
    """Return a segment that consists of `lines` (events, or bytes with their line end).

    `header` and `footer` replace single fields. The footer's sha256 matches the lines unless it is
    replaced. `seed` is the seed of the private key that signs the segment, before `footer` replaces
    anything.
    """
    body = [line if isinstance(line, bytes) else json_line(line) for line in lines]
    first_line = {
        "format": "oncegate-session-log",
        "version": 1,
        "gateway": gateway,
        "boot": boot,
        "store": store,
        "segment": segment,
        "clock": clock,
        "previous_sha256": previous_sha256,
    } | dict(header or {})
    text = json_line(first_line) + b"".join(body)
    last_sequence = first_sequence + len(body) - 1
    sha256 = hashlib.sha256(text).hexdigest()
    last_line: dict[str, Any] = {
        "count": len(body),
        "first_sequence": first_sequence,
        "last_sequence": last_sequence,
        "sha256": sha256,
    }
    if seed is not None:
        last_line |= signature_fields(
            seed,
            gateway=gateway,
            segment=segment,
            first=first_sequence,
            last=last_sequence,
            sha256=sha256,
        )
    last_line |= dict(footer or {})
    content = compressed(text + json_line(last_line), checksum=checksum)
    name = segment_name(
        content,
        gateway=gateway,
        boot=boot,
        segment=segment,
        first=first_sequence,
        last=last_sequence,
    )
    return Segment(name, content)


@dataclass
class LogWriter:
    """A gateway's log. It numbers events and segments, and links each segment to the one before."""

    gateway: str = "gw-1"
    boot: str = BOOT
    store: str = STORE
    sequence: int = 1
    segment: int = 1
    previous_sha256: str | None = None
    time_ms: int = TIME_MS
    clock: str = "synchronised"
    seed: bytes | None = None
    """The seed of the private key that signs, or None for an unsigned log of an earlier version."""
    segments: list[Segment] = field(default_factory=list)

    def seal(self, events: Iterable[Event]) -> Segment:
        lines = numbered(events, self.sequence, self.time_ms)
        made = sealed(
            lines,
            first_sequence=self.sequence,
            gateway=self.gateway,
            boot=self.boot,
            store=self.store,
            segment=self.segment,
            clock=self.clock,
            previous_sha256=self.previous_sha256,
            seed=self.seed,
        )
        self.sequence += len(lines)
        self.segment += 1
        self.time_ms += 10 * len(lines)
        self.previous_sha256 = made.sha256
        self.segments.append(made)
        return made


def payload_of(
    value: object,
    *,
    device: str = "board-0000002a",
    boot: int = 3,
    sequence: int = 17,
    name: str = "temperature",
    time: float = 1763715138.25,
    unit: str | None = "Cel",
) -> str:
    """The payload of one reading (docs/formats/readings.md)."""
    kind = "vb" if isinstance(value, bool) else "vs" if isinstance(value, str) else "v"
    record: dict[str, object] = {"n": f"{device}/{name}", "t": time, kind: value}
    if unit is not None:
        record["u"] = unit
    return json.dumps([record | {"device": device, "boot": boot, "sequence": sequence}])


def held(message: int, payload: str, *, topic: str = "sensors/board-0000002a/temperature") -> Event:
    return {
        "event": "message_held",
        "session": 1,
        "client_id": "oncegate-bridge",
        "packet_id": message % 65535 + 1,
        "message": message,
        "topic": topic,
        "qos": 2,
        "retain": False,
        "payload_bytes": len(payload.encode()),
        "payload": payload,
    }


def released(message: int, *, matched: int = 1) -> Event:
    return {
        "event": "message_released",
        "session": 1,
        "client_id": "oncegate-bridge",
        "packet_id": message % 65535 + 1,
        "message": message,
        "matched": matched,
    }


def published(
    message: int, payload: str, *, topic: str = "sensors/board-0000002a/temperature"
) -> Event:
    return {
        "event": "message_published",
        "session": 1,
        "client_id": "oncegate-bridge",
        "message": message,
        "topic": topic,
        "qos": 1,
        "retain": False,
        "matched": 1,
        "origin": "client",
        "payload_bytes": len(payload.encode()),
        "payload": payload,
    }


def opened(session: int = 1, client_id: str = "oncegate-bridge") -> Event:
    return {
        "event": "session_opened",
        "session": session,
        "client_id": client_id,
        "clean": False,
        "protocol": 4,
        "keep_alive_seconds": 60,
        "address": "127.0.0.1:53122",
    }


def closed(session: int = 1, client_id: str = "oncegate-bridge", reason: str = "network") -> Event:
    return {
        "event": "session_closed",
        "session": session,
        "client_id": client_id,
        "reason": reason,
    }


def readings(count: int, *, first: int = 1) -> list[Event]:
    """Return the two events of each of `count` QoS 2 readings: held and released."""
    events: list[Event] = []
    for number in range(first, first + count):
        events += [held(number, payload_of(20 + number / 8, sequence=number)), released(number)]
    return events
