"""The record of slots and updates: one file that is replaced atomically after each step.

::

    installing ──> installed ──> trial ──> kept
        │  └─> failed    │         ├─> unhealthy   the gateway was not healthy in time
        │                └─────────┴─> returned    the other slot was started
        └─> interrupted                            the power failed while the slot was written

The module `installing` sets `installing`, `failed` and `installed`. The health check of a slot on
trial sets `kept` and `unhealthy`. The other states are detected and set when the device starts.
U-Boot's counter decides whether a slot is on trial, even if the record differs.
"""

import json
import re
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum

from oncegate_device.places import Places, write
from oncegate_device.start import VERSION, Moment, Release, Start

RECORD_BYTES_MAX = 64 << 10
"""Largest size of the record file in bytes. A valid record has less than 2000."""
DETAIL_CHARACTERS_MAX = 400
"""Longest reason in a record, in characters. A reason from rauc has one or two lines."""
TIME_MS_MAX = 253_402_300_799_999
"""Largest time in a record: the last millisecond of the year 9999."""
SLOTS = ("A", "B")


class State(StrEnum):
    """The state of an update, from `installing` to `kept` or to one of the failures."""

    INSTALLING = "installing"
    FAILED = "failed"
    INSTALLED = "installed"
    TRIAL = "trial"
    KEPT = "kept"
    UNHEALTHY = "unhealthy"
    RETURNED = "returned"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """The last update: its state, its slot, its version, and the time when its state last changed.

    `version` is None if it is unknown. `detail` is a sentence about a failure.
    """

    state: State
    slot: str
    version: str | None
    time_ms: int
    clock: str
    boot_id: str
    detail: str = ""
    ends_rollback: bool = False
    """True if the previous version cannot read the data that this version writes."""


@dataclass(frozen=True, slots=True)
class Record:
    """The record of updates: the release in each slot, and the last update.

    `note` describes a problem with the record itself.
    """

    slots: dict[str, Release | None] = field(default_factory=lambda: dict.fromkeys(SLOTS))
    last: Update | None = None
    note: str = ""

    def with_slot(self, slot: str, release: Release | None) -> "Record":
        return replace(self, slots={**self.slots, slot: release})


def begun(record: Record, now: Moment, update: Update) -> Record:
    """Return the record with the state `installing` for an update that is about to start.

    The returned record has no release in the slot of the update, because the slot will be
    overwritten.
    """
    last = _at(replace(update, state=State.INSTALLING), now)
    return replace(record.with_slot(update.slot, None), last=last, note="")


def failed(record: Record, now: Moment, update: Update, detail: str) -> Record:
    """Return the record with the state `failed` for the update, and the reason `detail`.

    If an earlier update is still waiting for a restart, a sentence about it is added to the reason.
    """
    last = record.last
    if last is not None and last.state is State.INSTALLED:
        detail += f". What was installed in slot {last.slot} before is still tried at the restart"
    detail = line_of(detail)
    return replace(record, last=_at(replace(update, state=State.FAILED, detail=detail), now))


def installed(record: Record, now: Moment, release: Release | None) -> Record:
    """Return the record with the state `installed`: the update is waiting for a restart."""
    assert record.last is not None
    update = replace(record.last, state=State.INSTALLED, detail="")
    return replace(record.with_slot(update.slot, release), last=_at(update, now))


def booted(record: Record, now: Moment, start: Start, *, is_trial: bool | None) -> Record:
    """Return the record after a boot of the slot in `start`.

    The argument `is_trial` is True if the slot is on trial, or None if this is unknown.
    """
    record = record.with_slot(start.slot, start.release)
    last = record.last
    if last is not None and last.boot_id == now.boot_id:
        return record
    if is_trial:
        return _with_running_as_last(record, now, start, State.TRIAL)
    if last is None:
        return record
    runs = last.slot == start.slot and (
        last.state in (State.INSTALLED, State.TRIAL)
        or (start.release is not None and last.version == start.release.version)
    )
    if runs:
        is_known = is_trial is not None and last.state is not State.KEPT
        return _with_running_as_last(record, now, start, State.KEPT) if is_known else record
    failure = _failure_of(last, start)
    if failure is None:
        return record
    state, detail = failure
    return replace(record, last=_at(replace(last, state=state, detail=detail), now))


def kept(record: Record, now: Moment, start: Start) -> Record:
    """Return the record with the state `kept` for the running slot, after its health check."""
    return _with_running_as_last(record, now, start, State.KEPT)


def unhealthy(record: Record, now: Moment, start: Start, detail: str) -> Record:
    """Return the record with the state `unhealthy` for the running slot, and the reason `detail`.

    The health check then restarts the device into the other slot.
    """
    return _with_running_as_last(record, now, start, State.UNHEALTHY, detail)


def load(places: Places) -> Record:
    """Load the record of updates. If the file is missing, return an empty record.

    If the file is damaged, the record is empty except for a note about the damage.
    """
    try:
        with places.updates.open("rb") as file:
            content = file.read(RECORD_BYTES_MAX + 1)
        if len(content) > RECORD_BYTES_MAX:
            raise ValueError("too long")
        return _record_in(json.loads(content))
    except FileNotFoundError:
        return Record()
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return Record(
            note="The record of updates was damaged and is begun again: what happened to "
            "updates before this start is not known"
        )


def save(record: Record, places: Places) -> None:
    """Write the record of updates to its file, atomically and durably."""
    write(places.updates, json.dumps(asdict(record), indent=1) + "\n", 0o644)


def line_of(text: str) -> str:
    """Return another program's text as one short line without control characters."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= DETAIL_CHARACTERS_MAX else line[: DETAIL_CHARACTERS_MAX - 1] + "…"


def _with_running_as_last(
    record: Record, now: Moment, start: Start, state: State, detail: str = ""
) -> Record:
    """Return a copy of the record in which the running release is the last update.

    `state` is the state of this update. `detail` is a sentence about a failure, or empty.
    """
    last, version = record.last, start.release.version if start.release else None
    is_same = last is not None and last.slot == start.slot and last.version == version
    update = Update(
        state=state, slot=start.slot, version=version, time_ms=0, clock="", boot_id="",
        detail=line_of(detail), ends_rollback=bool(is_same and last and last.ends_rollback),
    )  # fmt: skip
    return replace(record.with_slot(start.slot, start.release), last=_at(update, now))


def _failure_of(last: Update, start: Start) -> tuple[State, str] | None:
    """Determine from this start whether the last update has failed.

    An update has failed if its installation was interrupted, or if the device did not start from
    the update's slot. Return the update's new state and the reason, or None if the state does not
    change.
    """
    if last.state is State.INSTALLING:
        return State.INTERRUPTED, "the device restarted before the update was complete"
    if last.slot == start.slot:
        return None
    if last.state is State.INSTALLED:
        return State.RETURNED, f"slot {last.slot} did not start, or ended before it was checked"
    if last.state is State.TRIAL:
        return State.RETURNED, f"slot {last.slot} started, and ended before it was found healthy"
    if last.state is State.KEPT:
        return State.RETURNED, f"slot {last.slot} had been kept, and could not be started this time"
    return None


def _at(update: Update, now: Moment) -> Update:
    return replace(update, time_ms=now.time_ms, clock=now.clock, boot_id=now.boot_id)


def _record_in(value: object) -> Record:
    """Create a record from JSON values.

    Raises ValueError, TypeError or KeyError if the record is not valid.
    """
    fields = _fields_of(value)
    slots = _fields_of(fields["slots"])
    last = fields["last"]
    return Record(
        {slot: _release_in(slots[slot]) for slot in SLOTS},
        None if last is None else _update_in(_fields_of(last)),
        _text_of(fields["note"]),
    )


def _release_in(value: object) -> Release | None:
    if value is None:
        return None
    fields = _fields_of(value)
    return Release(_version_of(fields["version"]), _number_of(fields["store_format"], 999_999))


def _update_in(fields: dict[str, object]) -> Update:
    slot, clock, ends = fields["slot"], fields["clock"], fields["ends_rollback"]
    if slot not in SLOTS or clock not in ("synchronised", "unsynchronised"):
        raise ValueError("no such slot, or no such clock")
    if not isinstance(ends, bool):
        raise TypeError("ends_rollback is not true or false")
    return Update(
        state=State(_text_of(fields["state"])),
        slot=str(slot),
        version=None if fields["version"] is None else _version_of(fields["version"]),
        time_ms=_number_of(fields["time_ms"], TIME_MS_MAX),
        clock=str(clock),
        boot_id=_text_of(fields["boot_id"]),
        detail=_text_of(fields["detail"]),
        ends_rollback=ends,
    )


def _fields_of(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


def _text_of(value: object) -> str:
    if not isinstance(value, str) or len(value) > DETAIL_CHARACTERS_MAX or line_of(value) != value:
        raise ValueError("not a line of text")
    return value


def _version_of(value: object) -> str:
    text = _text_of(value)
    if not re.fullmatch(VERSION, text):
        raise ValueError("not a version")
    return text


def _number_of(value: object, largest: int) -> int:
    if type(value) is not int or not 0 <= value <= largest:
        raise ValueError("not a number, or out of its range")
    return value
