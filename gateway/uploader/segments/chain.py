"""The head of the segment chain: the newest sealed segment, to which the next one refers.

The head is recorded in `log/chain.json`, because the newest segment's file is removed some time
after its upload. `log/chain.json` is written after each new segment, so after a crash, only the
newest segment can be missing from it. At every start, it is compared with the segment files. If it
is unclear whether events are in a segment, they are exported again, so that no event is lost. If an
event is in two segments, it has the same identity `(gateway, boot, sequence)` in both, so that
readers can drop the duplicate.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice, takewhile
from pathlib import Path

import orjson

from gateway.process.files.disk_errors import is_unreadable, line_of
from gateway.process.files.durable import make_folder, replace_durably
from gateway.uploader.faults import sentence_of
from gateway.uploader.segments.damage import is_set_aside, set_aside
from gateway.uploader.segments.names import SegmentName, each_segment_in, path_of
from gateway.uploader.segments.newer_format import NewerFormat
from gateway.uploader.segments.verify import DamagedSegment, UnknownVersion, load_segment
from gateway.uploader.settings import (
    BOOTS_KEPT,
    CHAIN_TRIES_MAX,
    HEADS_KEPT,
    SEGMENTS_RECALLED_MAX,
)

logger = logging.getLogger(__name__)

_FORMAT = "oncegate-log-chain"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Head:
    """The properties of a sealed segment that are needed to continue the chain."""

    gateway: str
    boot: str
    segment: int
    last_sequence: int
    sha256: str


class Chain:
    """The newest part of the chain of segments.

    It contains the properties of the newest segments (the newest last), and the boots (runs of the
    broker) whose events have been exported.
    """

    def __init__(self, log_dir: Path, gateway: str) -> None:
        self._log_dir = log_dir
        self._gateway = gateway
        self._heads: list[Head] = []
        self.boots: list[str] = []
        self._unreadable_tries = 0

    @property
    def head(self) -> Head | None:
        return self._heads[-1] if self._heads else None

    @property
    def next_segment(self) -> int:
        head = self.head
        return head.segment + 1 if head is not None and head.gateway == self._gateway else 1

    @property
    def previous_sha256(self) -> str | None:
        head = self.head
        return head.sha256 if head is not None and head.gateway == self._gateway else None

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last sealed event.

        It remains the same if the gateway's id changes.
        """
        return self.head.last_sequence if self.head is not None else 0

    def load(self) -> None:
        """Load the state from log/chain.json, correct it from the segment files, and save it.

        Damaged segments at the end of the chain are moved to log/damaged. Raises `OSError` if files
        cannot be read or written.
        """
        for directory in ("open", "sealed", "sent"):
            make_folder(self._log_dir / directory)
        self._heads, self.boots = [], []
        self._load_state()
        known = self.head
        for path in (self._log_dir / "open").iterdir():
            path.unlink()
        lost = list(takewhile(lambda name: not self._is_whole(name), self._own("sealed")))
        if lost:
            self._heads = [head for head in self._heads if head.segment < lost[-1].segment]
        newest = [*self._not_before_head("sent"), *self._not_before_head("sealed")]
        for name in sorted(newest, key=lambda name: name.segment):
            if name not in lost:
                self._take(name)
        if self.head != known:
            self._save()

    def advance(self, name: SegmentName) -> None:
        """Add a sealed segment to the chain and save the state.

        If `OSError` is raised, the segment is still sealed, but the state was not saved.
        """
        self._add(name)
        self._save()

    def _own(self, directory: str) -> Iterator[SegmentName]:
        """Yield the segments of this gateway in a folder of the log, the newest first."""
        names = each_segment_in(self._log_dir / directory, newest_first=True)
        return (name for name in names if name.gateway == self._gateway)

    def _not_before_head(self, directory: str) -> list[SegmentName]:
        """Return a folder's segments that are not older than the chain's newest segment (the head).

        If the head is unknown, return the newest segments in the folder.
        """
        head = self.head
        least = head.segment if head is not None and head.gateway == self._gateway else 0
        names = takewhile(lambda name: name.segment >= least, self._own(directory))
        return list(islice(names, SEGMENTS_RECALLED_MAX))

    def _is_whole(self, name: SegmentName) -> bool:
        """Return True if a sealed segment is complete. A damaged segment is moved to log/damaged.

        A segment that is no longer in log/sealed counts as complete, unless it was moved to
        log/damaged.
        """
        path = path_of(self._log_dir / "sealed", name)
        try:
            load_segment(path)
        except FileNotFoundError:
            # A complete segment was moved to log/sent, and may have been removed since. A damaged
            # segment was moved to log/damaged.
            is_sent = path_of(self._log_dir / "sent", name).exists()
            return is_sent or not is_set_aside(self._log_dir, name)
        except UnknownVersion:
            # Its checksum is right. Only the version that wrote it can check its contents.
            return True
        except DamagedSegment as problem:
            damage = str(problem)
        except OSError as problem:
            if not is_unreadable(problem):
                raise
            damage = sentence_of(problem)
        else:
            return True
        with suppress(FileNotFoundError):
            set_aside(self._log_dir, path)
        logger.error(
            "segment %d was damaged after it was sealed and is in log/damaged: %s; "
            "its events are exported again as far as the journal has them",
            name.segment,
            damage,
        )
        return False

    def _take(self, name: SegmentName) -> None:
        """Add a segment that was found on disk to the chain.

        If it is the chain's newest segment, but its SHA-256 differs from the recorded SHA-256, the
        recorded SHA-256 is replaced.
        """
        head = self.head
        if head is None or head.gateway != self._gateway or name.segment > head.segment:
            self._add(name)
        elif name.segment == head.segment and name.sha256 != head.sha256:
            logger.error(
                "segment %d has sha256 %s, log/chain.json has %s: the file is taken as right",
                name.segment,
                name.sha256,
                head.sha256,
            )
            self._heads.pop()
            self._add(name)

    def _add(self, name: SegmentName) -> None:
        head = Head(name.gateway, name.boot, name.segment, name.last_sequence, name.sha256)
        self._heads = [*self._heads, head][-HEADS_KEPT:]
        self.boots = [*(boot for boot in self.boots if boot != name.boot), name.boot]
        self.boots = self.boots[-BOOTS_KEPT:]

    def _load_state(self) -> None:
        path = self._log_dir / "chain.json"
        try:
            heads, boots = _state_of(path, path.read_bytes())
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError) as damage:
            is_newer = isinstance(damage, NewerFormat)
            if is_newer or (isinstance(damage, OSError) and not self._is_given_up(damage)):
                raise
            set_aside(self._log_dir, path)
            logger.error(
                "log/chain.json is damaged (%s) and is in log/damaged: the chain continues from "
                "the segments on this device, or begins again if there are none",
                line_of(damage),
            )
            return
        self._heads, self.boots = heads, boots

    def _is_given_up(self, problem: OSError) -> bool:
        """Count a failed attempt to read log/chain.json.

        Return True if further attempts are useless, because the disk has failed too often.
        """
        self._unreadable_tries += 1
        return is_unreadable(problem) and self._unreadable_tries >= CHAIN_TRIES_MAX

    def _save(self) -> None:
        state = {
            "format": _FORMAT,
            "version": _VERSION,
            "heads": [asdict(head) for head in self._heads],
            "boots": self.boots,
        }
        text = orjson.dumps(state)
        data = text + b"\n" + hashlib.sha256(text).hexdigest().encode("ascii") + b"\n"
        path = self._log_dir / "chain.json"
        replace_durably(path, data, partial=path.with_suffix(".partial"))


def _state_of(path: Path, data: bytes) -> tuple[list[Head], list[str]]:
    """Parse log/chain.json: one line of JSON, then one line with its SHA-256.

    Raises `NewerFormat` if a newer version wrote the file, and `ValueError`, `KeyError` or
    `TypeError` if it is invalid.
    """
    text, _, rest = data.partition(b"\n")
    if rest != hashlib.sha256(text).hexdigest().encode("ascii") + b"\n":
        raise ValueError("its checksum does not match")
    state = orjson.loads(text)
    if state["format"] != _FORMAT:
        raise ValueError(f"format {state['format']} is not known")
    if state["version"] != _VERSION:
        raise NewerFormat(path, state["version"], _VERSION)
    heads = [Head(**head) for head in state["heads"]]
    boots = list(state["boots"])
    texts = [text for head in heads for text in (head.gateway, head.boot, head.sha256)] + boots
    numbers = [number for head in heads for number in (head.segment, head.last_sequence)]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a text in it is none")
    if not all(type(number) is int and number > 0 for number in numbers):
        raise ValueError("a number in it is none")
    return heads, boots
