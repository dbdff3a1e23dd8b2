"""The file with the card's status for the web page: /run/oncegate-device/card.json.

The sentences of the status are created here, so that they are the same on the web page, in the REST
interface and in `oncegate-device status`.
"""

import json
from pathlib import Path
from typing import Any

from oncegate_device import network_files, updates
from oncegate_device.places import Places, write
from oncegate_device.report import RECORD
from oncegate_device.start import Release, Start, moment_of, start_of
from oncegate_device.updates import Record, State, Update, line_of

LINES_MAX = 64
"""Largest number of lines shown from the provisioning report. Further mistakes are omitted."""
REPORT_BYTES_MAX = 256 << 10
"""Bytes read from the provisioning report, at most. gateway.toml has at most 64 KiB, but a line
about a mistake is longer than the mistake."""
DATA_PARTITION = "dev/disk/by-partuuid/4f6e6365-04"


_AGAIN = "Slot {own} runs; `oncegate update` installs again"
_WORDS = {
    State.INSTALLING: (
        "{what} is being written into slot {slot}{end}",
        "Slot {own} runs meanwhile: leave the power on",
    ),
    State.FAILED: ("{what} was not installed: {detail}", _AGAIN),
    State.INSTALLED: (
        "{what} is installed in slot {slot} and waits for a restart{end}",
        "`systemctl reboot` tries it: kept once the gateway is healthy, given up otherwise",
    ),
    State.TRIAL: (
        "{what} in slot {slot} is on trial{end}",
        "Nothing to do: kept once the gateway is healthy, given up for slot {other} otherwise",
    ),
    State.KEPT: ("{what} in slot {slot} was healthy and is kept{end}", ""),
    State.UNHEALTHY: ("{what} in slot {slot} was given up: {detail}", _AGAIN),
    State.RETURNED: ("{what} in slot {slot} did not stay: {detail}", _AGAIN),
    State.INTERRUPTED: ("{what} was not installed in slot {slot}: {detail}", _AGAIN),
}
"""Templates for each state: a sentence about the update, and advice for the next step."""


def publish(places: Places, start: Start) -> None:
    """Write the card's status to the file `places.card`, which every Linux user can read."""
    places.run.mkdir(exist_ok=True)
    write(places.card, json.dumps(facts_of(places, start), indent=1) + "\n", 0o644)


def facts_of(places: Places, start: Start) -> dict[str, object]:
    """Return the current status of the card, in the format of docs/formats/card.md."""
    record = updates.load(places)
    last = record.last
    sentence, advice = words_of(last, start)
    return {
        "written_ms": moment_of(places).time_ms,
        "booted": _slot_of(start.slot, start.release),
        "other": _slot_of(start.other, record.slots[start.other]),
        "update": last and {
            "state": last.state,
            "slot": last.slot,
            "version": last.version,
            "time_ms": last.time_ms,
            "clock": last.clock,
            "ends_rollback": last.ends_rollback,
            "sentence": sentence,
            "advice": advice,
            "percent": _percent_of(places) if last.state is State.INSTALLING else None,
        },
        "refusal": _text_of(places.update_refusal),
        "no_way_back": no_way_back(record, start),
        "note": record.note,
        "provisioning": _provisioning_of(places),
        "network": {
            **network_files.settings_of(places.device),
            "change": network_change_of(places) or None,
        },
        "device": _device_of(places),
    }  # fmt: skip


def status(places: Places) -> str:
    """Return the card's status as human-readable lines of text."""
    start = start_of(places)
    record = updates.load(places)
    lines = [*_slot_lines(record, start), *sentences_of(record, start)]
    provisioning = _provisioning_of(places)
    if provisioning is not None:
        lines.append(
            "gateway.toml was taken:" if provisioning["taken"] else "gateway.toml was NOT taken:"
        )
        lines += [f"  {line}" for line in provisioning["lines"]]
    else:
        lines.append("No gateway.toml was taken yet")
    return "\n".join(lines)


def sentences_of(record: Record, start: Start) -> list[str]:
    """Return sentences about the last update, the next step, and problems with `record`."""
    words = words_of(record.last, start)
    return [f"{each}." for each in (*words, record.note) if each]


def no_way_back(record: Record, start: Start) -> str:
    """Return the reason why the other slot cannot be started, or an empty string if it can."""
    other, own, last = record.slots[start.other], start.release, record.last
    if last is not None and last.state in (State.INSTALLING, State.INSTALLED):
        return "An update is under way"
    if last is not None and last.state is State.TRIAL:
        return f"Slot {start.slot} is on trial, and returns to slot {start.other} by itself"
    if other is None:
        return f"No version is known to be in slot {start.other}"
    if own is None or own.store_format > other.store_format:
        return f"Version {other.version} in slot {start.other} cannot read today's data"
    return ""


def _percent_of(places: Places) -> int:
    text = _text_of(places.progress)
    return int(text) if text.isdecimal() else 0


def _text_of(file: Path) -> str:
    """Return the contents of a short file as one line, or an empty string if it is unreadable."""
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            return line_of(opened.read(REPORT_BYTES_MAX))
    except OSError:
        return ""


def words_of(last: Update | None, start: Start) -> tuple[str, str]:
    """Return a sentence about the last update, and advice about the next step.

    The advice may be an empty string.
    """
    if last is None:
        return "No update is recorded", ""
    sentence, advice = _WORDS[last.state]
    if last.state is State.UNHEALTHY and start.slot == last.slot:
        advice = "The device restarts into slot {other}"
    words = {
        "what": f"Version {last.version}" if last.version else "A bundle of an unknown version",
        "slot": last.slot,
        "own": start.slot,
        "other": start.other,
        "detail": last.detail,
        "end": ". The version before it cannot read its data" if last.ends_rollback else "",
    }
    return sentence.format(**words), advice.format(**words)


def _slot_lines(record: Record, start: Start) -> list[str]:
    own, other = start.release, record.slots[start.other]
    return [
        f"Slot {start.slot} runs: version {own.version if own else 'not known'}",
        f"Slot {start.other}: "
        + (f"version {other.version}" if other else "no version is known to be in it"),
    ]


def _slot_of(name: str, release: Release | None) -> dict[str, object]:
    return {
        "slot": name,
        "version": release and release.version,
        "store_format": release and release.store_format,
    }


def _provisioning_of(places: Places) -> dict[str, Any] | None:
    """Return the report of the last provisioning, or None if no report exists.

    If another machine already uses the card's host name, a line about this is added at the
    beginning.
    """
    try:
        with (places.device / RECORD).open("rb") as file:
            report = json.loads(file.read(REPORT_BYTES_MAX))
        taken, lines = report["taken"], report["lines"]
        if not isinstance(taken, bool) or not isinstance(lines, list):
            raise TypeError
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return {"taken": False, "lines": ["The report of the last provisioning is damaged"]}
    conflict = _conflict_of_names(places)
    lines = [*conflict, *lines]
    return {"taken": taken, "lines": [line_of(str(line)) for line in lines[:LINES_MAX]]}


def network_change_of(places: Places) -> dict[str, object]:
    """Return the last network change: `state`, `sentence` and `until_s`.

    If the change is on trial, `until_s` is the time at which it is undone, in seconds since the
    start of the kernel. Otherwise, `until_s` is None. The result is empty if there was no change,
    or if its record is damaged.
    """
    try:
        with places.network_change.open("rb") as file:
            record = json.loads(file.read(REPORT_BYTES_MAX))
        return {key: record[key] for key in ("state", "sentence", "until_s")}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return {}


def provisioning_lines_of(places: Places) -> list[str]:
    """Return the current lines of the provisioning report."""
    provisioning = _provisioning_of(places)
    return _conflict_of_names(places) if provisioning is None else list(provisioning["lines"])


def _conflict_of_names(places: Places) -> list[str]:
    """Return a list with a line for the report if another machine has the card's host name.

    If there is no such machine on the network, the list is empty.
    """
    try:
        published = places.published_name.read_text().strip()
        own = (places.root / "proc/sys/kernel/hostname").read_text().strip()
    except FileNotFoundError:
        return []
    if published == own:
        return []
    line = (
        f"Name: another machine on the network is called {own}: this one is found as "
        f"{published}.local until one of them has another name ([device] hostname)"
    )
    return [line]


def _device_of(places: Places) -> str | None:
    """Return the name of the card's block device in /sys/class/block, or None if not found."""
    partition = Path(places.root / DATA_PARTITION).resolve().name
    sys = places.root / "sys/class/block" / partition
    return sys.resolve().parent.name if (sys / "partition").exists() else None
