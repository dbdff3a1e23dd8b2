"""Settings of the session log, and all limits of this package with their reasons."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SEGMENT_BYTES_MAX = 8_000_000
"""Uncompressed bytes of a segment: the format's limit (docs/formats/session-log.md)."""

SEGMENT_BYTES_MIN = 1_000_000
"""Smallest limit: the longest line without its payload (client id and topic of 65,535 bytes, each
byte escaped to six) must always fit beside header and footer."""

LINE_BYTES_MAX = 1 << 20
"""One event: readers refuse longer lines (docs/formats/session-log.md). A payload that does not fit
is given by its hash."""

PAGE_BYTES = 256 << 10
"""Journal read at a time: some 20 ms of work, so that reports and uploads go on in between."""

PAGE_BYTES_MAX = 64 << 20
"""A page grows up to this when nothing in it can be decoded, to reach what is behind the damage."""

CHUNK_BYTES = 256 << 10
"""Lines encoded before they go to the compressor: bounds memory, large enough to be cheap."""

TOPICS_REMEMBERED_MAX = 10_000
"""Topics whose payload policy is kept: a gateway's sensors with room to spare, about 1 MB."""

HEADS_KEPT = 8
"""Chain heads remembered: as many damaged newest segments can be set aside and written again."""

BOOTS_KEPT = 64
"""Boots remembered: more starts than a journal can hold without one checkpoint between them."""

DAMAGED_FILES_MAX = 16
"""Files kept in log/damaged for people to look at, segments aside: a dying card must not fill
itself with copies of what it damages."""

DAMAGED_RETRY_SECONDS = (60.0, 3600.0)
"""First and longest wait before a segment in log/damaged is read again: a card that is reset gives
back what it did not, and to read a bad block takes a card many seconds."""

SEGMENTS_RECALLED_MAX = 2_000
"""Newest segments from which a lost log/chain.json is made again: more than a journal that waits
for its export has boots, and no more than a megabyte of names."""

DAMAGED_TRIED_MAX = 1_000
"""Segments in log/damaged that are read again at a time, the oldest: each may be 8 MB of a card
that reads slowly."""

CHAIN_TRIES_MAX = 6
"""Starts of the exporter at which log/chain.json cannot be read, before it counts as damaged: half
a minute by EXPORT_RETRY_SECONDS."""

KEY_TRIES_MAX = CHAIN_TRIES_MAX
"""Starts of the exporter at which log/signing-key cannot be read, before it counts as damaged: a
bus that is reset must not cost the gateway its key."""

PUBLIC_KEYS_KEPT = 16
"""Public keys in log/signing-key.pub: one for each time that the key was lost."""

EXPORT_RETRY_SECONDS = (1.0, 30.0)
"""First and longest wait after the journal or the disk failed: sealing must resume soon after."""

UPLOAD_RETRY_SECONDS = (1.0, 300.0)
"""First and longest wait after the target failed: a link that comes back is used within 5 min."""

PRUNED_SHARE = 100
"""log/sent is looked at, and emptied, a hundredth of its limits at a time: to look lists files."""

UPLOAD_RESCAN_SECONDS = 60.0
"""log/sealed is listed this often even when the exporter reports nothing new."""

UPLOAD_SECONDS_MAX = 600.0
"""One request: 8 MB at 110 kbit/s, the slowest modem link that could ever keep up."""

CONNECT_SECONDS_MAX = 20.0
"""Connecting to the target: beyond this a retry does better than waiting."""

FREE_BYTES_MAX, FREE_SHARE = 64 << 20, 64
"""With a target on the same disk no segment is begun with less than this share of the disk free, 64
MiB at the most: it would gain nothing, and the broker's commits come before its log."""

RESERVE_BYTES_MAX, RESERVE_SHARE = 1 << 20, 64
"""Of log/reserve: a segment of the smallest size, compressed, with room to spare."""

RESERVE_STEP_BYTES = 64 << 10
"""Given up at a time: a small segment, or the state of the chain."""

DRAIN_SECONDS_MAX = 2.0
"""At a stop the journal is still exported for this long; the rest follows at the next start."""

FAREWELL_SECONDS_MAX = 5.0
"""At a stop what has been sealed is still uploaded for this long."""

REPORT_SECONDS = 1.0
"""Between two status reports to the broker."""

ANSWER_SECONDS_MAX = 10.0
"""For an answer of the control socket: a commit on a slow card takes a second or two."""

SENTENCE_CHARACTERS_MAX = 300
"""Of a library's error message: enough for a person, no page of XML in the status."""


class SettingsError(ValueError):
    """A setting is out of range. The message names it and what is allowed."""


@dataclass(frozen=True, slots=True)
class SessionLogSettings:
    """Where the session log is written, how it is divided and where it is uploaded.

    ``target`` is a URL: ``file:///...``, ``s3://...``, ``gs://...``, ``az://...``,
    ``http(s)://...``. ``payload_topics`` are MQTT topic filters: payloads of matching topics are
    included in the log.
    """

    gateway: str
    data_dir: Path
    control_socket: Path
    target: str
    payload_topics: tuple[str, ...]
    seal_after_seconds: float
    segment_bytes_max: int = SEGMENT_BYTES_MAX
    sent_bytes_keep: int = 0
    sent_files_keep: int = 10_000
    checksum_header: bool = True
    poll_seconds: float = 0.25
    free_bytes_min: int | None = None
    """None: as the disk is large."""

    def __post_init__(self) -> None:
        if not SEGMENT_BYTES_MIN <= self.segment_bytes_max <= SEGMENT_BYTES_MAX:
            raise SettingsError(
                f"segment_bytes_max is {self.segment_bytes_max}: "
                f"set it between {SEGMENT_BYTES_MIN} and {SEGMENT_BYTES_MAX} bytes"
            )
        for name in ("seal_after_seconds", "poll_seconds"):
            if not getattr(self, name) > 0:
                raise SettingsError(f"{name} is {getattr(self, name)}: set it above 0 s")
        for name in ("sent_bytes_keep", "sent_files_keep", "free_bytes_min"):
            if (getattr(self, name) or 0) < 0:
                raise SettingsError(f"{name} is {getattr(self, name)}: set 0 or more")

    @property
    def log_dir(self) -> Path:
        return self.data_dir / "log"
