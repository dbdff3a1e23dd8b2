"""Settings of the session log, and all limits of this package with their reasons."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SEGMENT_BYTES_MAX = 8_000_000
"""Maximum uncompressed size of a segment, as in the format (docs/formats/session-log.md)."""

SEGMENT_BYTES_MIN = 1_000_000
"""Lowest configurable maximum size of a segment. The longest line without its payload (client id
and topic of 65,535 bytes, each byte escaped to six) must always fit, with header and footer."""

LINE_BYTES_MAX = 1 << 20
"""Maximum length of one event's line: readers reject longer lines (docs/formats/session-log.md). A
payload that does not fit is replaced by its hash."""

PAGE_BYTES = 256 << 10
"""Size of a page read from the journal: about 20 ms of work, so that reports and uploads continue
between pages."""

PAGE_BYTES_MAX = 64 << 20
"""Maximum size of a page. A page is enlarged if nothing in it can be decoded, to skip the
damage."""

CHUNK_BYTES = 256 << 10
"""Size of the lines encoded before they are compressed. This limits memory, and is large enough to
be efficient."""

TOPICS_REMEMBERED_MAX = 10_000
"""Maximum number of topics with a cached payload policy: more than a gateway's sensors have, about
1 MB."""

HEADS_KEPT = 8
"""Number of chain heads that are stored. Up to this many damaged segments at the end of the chain
can be moved to log/damaged and written again."""

BOOTS_KEPT = 64
"""Number of stored boots (runs of the broker): more than a journal can contain without a checkpoint
between them."""

DAMAGED_FILES_MAX = 16
"""Maximum number of files in log/damaged, not counting segments: a failing SD card must not fill up
with copies of damaged data."""

DAMAGED_RETRY_SECONDS = (60.0, 3600.0)
"""First and longest wait before a segment in log/damaged is read again. An SD card may recover
after a reset, and reading a bad block takes many seconds."""

SEGMENTS_RECALLED_MAX = 2_000
"""Number of newest segments from which a lost log/chain.json is rebuilt: more than the boots in a
journal that waits for its export. Their names take at most a megabyte."""

DAMAGED_TRIED_MAX = 1_000
"""Maximum number of segments in log/damaged that are retried in one pass, the oldest first. Each
may have 8 MB and be read slowly."""

CHAIN_TRIES_MAX = 6
"""Number of attempts to read log/chain.json before it counts as damaged: half a minute with
EXPORT_RETRY_SECONDS."""

KEY_TRIES_MAX = CHAIN_TRIES_MAX
"""Number of attempts to read log/signing-key before it counts as damaged: after a short fault of
the SD card the gateway must not need a new key."""

PUBLIC_KEYS_KEPT = 16
"""Maximum number of public keys in log/signing-key.pub: a key is added whenever the previous one
was lost."""

EXPORT_RETRY_SECONDS = (1.0, 30.0)
"""First and longest wait after a failure of the journal or the disk. Sealing must resume soon after
the failure ends."""

UPLOAD_RETRY_SECONDS = (1.0, 300.0)
"""First and longest wait after a failure of the upload target: a restored connection is used within
5 min."""

PRUNED_SHARE = 100
"""Divisor of the limits of log/sent: old segments are removed in steps of a hundredth of the
limits, because a check lists all files."""

UPLOAD_RESCAN_SECONDS = 60.0
"""Longest time between two listings of log/sealed, even if the exporter reports nothing new."""

UPLOAD_SECONDS_MAX = 600.0
"""Timeout of one request: 8 MB at 110 kbit/s, the slowest modem link that is fast enough for the
session log."""

CONNECT_SECONDS_MAX = 20.0
"""Timeout for connecting to the upload target. After that, a retry is better than waiting."""

FREE_BYTES_MAX, FREE_SHARE = 64 << 20, 64
"""If the upload target is on the same disk, no segment is started with less than a 64th of the disk
free, at most 64 MiB. The upload would free no space, and the broker's commits are more important
than its log."""

RESERVE_BYTES_MAX, RESERVE_SHARE = 1 << 20, 64
"""Size of log/reserve: a compressed segment of the smallest size, with a margin."""

RESERVE_STEP_BYTES = 64 << 10
"""Number of bytes freed per step: enough for a small segment, or for log/chain.json."""

DRAIN_SECONDS_MAX = 2.0
"""Maximum time for which the journal is still exported when the process stops. The remaining events
are exported after the next start."""

FAREWELL_SECONDS_MAX = 5.0
"""Maximum time for which sealed segments are still uploaded when the process stops."""

REPORT_SECONDS = 1.0
"""Interval of status reports to the broker."""

ANSWER_SECONDS_MAX = 10.0
"""Timeout for a response from the control socket: a commit on a slow SD card takes a second or
two."""

SENTENCE_CHARACTERS_MAX = 300
"""Maximum length of a library's error message in the status: enough for a person, without pages of
XML."""


class SettingsError(ValueError):
    """Error raised if a setting is out of range. The message names the setting and its limits."""


@dataclass(frozen=True, slots=True)
class SessionLogSettings:
    """Settings of the session log: its directory, the size of its segments, and the upload target.

    ``target`` is a URL: ``file:///...``, ``s3://...``, ``gs://...``, ``az://...``,
    ``http(s)://...``. ``payload_topics`` are MQTT topic filters. The log includes the payload of a
    message if one of these filters matches the message's topic.
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
    """Minimum free space in bytes, or None for a share of the disk."""

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
