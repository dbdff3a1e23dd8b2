"""Settings of the session log, and all limits of this package with their reasons."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SEGMENT_BYTES_MAX = 8_000_000
"""Uncompressed bytes of a segment: the format's limit (docs/formats/session-log.md)."""

SEGMENT_BYTES_MIN = 1_000_000
"""Smallest allowed limit: the longest line without its payload (client id and topic of 65,535
bytes, each byte escaped to six) must always fit, with header and footer."""

LINE_BYTES_MAX = 1 << 20
"""One event, at most: readers reject longer lines (docs/formats/session-log.md). A payload that
does not fit is replaced by its hash."""

PAGE_BYTES = 256 << 10
"""Journal read per page: some 20 ms of work, so that reports and uploads continue in between."""

PAGE_BYTES_MAX = 64 << 20
"""A page grows up to this if nothing in it can be decoded, to get past the damage."""

CHUNK_BYTES = 256 << 10
"""Lines encoded before they are compressed: limits memory, and is large enough to be cheap."""

TOPICS_REMEMBERED_MAX = 10_000
"""Topics with a cached payload policy, at most: more than a gateway's sensors have, about 1 MB."""

HEADS_KEPT = 8
"""Chain heads remembered: this many damaged newest segments can be set aside and written again."""

BOOTS_KEPT = 64
"""Boots remembered: more starts than a journal can contain without a checkpoint between them."""

DAMAGED_FILES_MAX = 16
"""Files kept in log/damaged for people to examine, not counting segments: a dying card must not
fill up with copies of damaged data."""

DAMAGED_RETRY_SECONDS = (60.0, 3600.0)
"""First and longest wait before a segment in log/damaged is read again: a card may recover after a
reset, and reading a bad block takes it many seconds."""

SEGMENTS_RECALLED_MAX = 2_000
"""Newest segments from which a lost log/chain.json is rebuilt: more than a journal waiting for its
export has boots, and at most a megabyte of names."""

DAMAGED_TRIED_MAX = 1_000
"""Segments in log/damaged that are retried in one pass, oldest first: each may be 8 MB on a card
that reads slowly."""

CHAIN_TRIES_MAX = 6
"""Starts of the exporter with an unreadable log/chain.json before it counts as damaged: half a
minute with EXPORT_RETRY_SECONDS."""

KEY_TRIES_MAX = CHAIN_TRIES_MAX
"""Starts of the exporter with an unreadable log/signing-key before it counts as damaged: a bus
reset must not cost the gateway its key."""

PUBLIC_KEYS_KEPT = 16
"""Public keys in log/signing-key.pub: one for each loss of the key."""

EXPORT_RETRY_SECONDS = (1.0, 30.0)
"""First and longest wait after a failure of journal or disk: sealing must resume soon after it."""

UPLOAD_RETRY_SECONDS = (1.0, 300.0)
"""First and longest wait after a failure of the target: a restored connection is used within 5
min."""

PRUNED_SHARE = 100
"""log/sent is checked and pruned in steps of a hundredth of its limits, because a check lists
files."""

UPLOAD_RESCAN_SECONDS = 60.0
"""log/sealed is listed at least this often, even if the exporter reports nothing new."""

UPLOAD_SECONDS_MAX = 600.0
"""Time limit of one request: 8 MB at 110 kbit/s, the slowest modem link that could ever keep up."""

CONNECT_SECONDS_MAX = 20.0
"""Time limit for connecting to the target: after this a retry is better than waiting."""

FREE_BYTES_MAX, FREE_SHARE = 64 << 20, 64
"""If the target is on the same disk, no segment is started with less than this share of the disk
free, at most 64 MiB: it would free nothing, and the broker's commits are more important than its
log."""

RESERVE_BYTES_MAX, RESERVE_SHARE = 1 << 20, 64
"""Size of log/reserve: a segment of the smallest size, compressed, with a margin."""

RESERVE_STEP_BYTES = 64 << 10
"""Bytes freed at a time: a small segment, or the state of the chain."""

DRAIN_SECONDS_MAX = 2.0
"""When stopping, the journal is still exported for this long; the rest follows at the next
start."""

FAREWELL_SECONDS_MAX = 5.0
"""When stopping, sealed segments are still uploaded for this long."""

REPORT_SECONDS = 1.0
"""Interval of status reports to the broker."""

ANSWER_SECONDS_MAX = 10.0
"""Time limit for an answer of the control socket: a commit on a slow card takes a second or two."""

SENTENCE_CHARACTERS_MAX = 300
"""Characters of a library's error message, at most: enough for a person, without pages of XML in
the status."""


class SettingsError(ValueError):
    """A setting is out of range. The message names it and what is allowed."""


@dataclass(frozen=True, slots=True)
class SessionLogSettings:
    """Settings of the session log: its directory, its division into segments, and its target.

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
    """None: depends on the size of the disk."""

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
