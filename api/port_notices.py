"""Notices about a serial port: problems and their fixes. Pure."""

from collections.abc import Iterator
from typing import Final

from api.models.bridge import Port
from api.notice import Level, Notice
from api.wording import clock_of, counted_of, duration_of, sentence_of, share_of, visible_of

FAILED_BEFORE_NOTICE: Final = 3
"""Requests of a device without an answer, in a row: a single one may be a disturbance."""
DEVICES_NAMED_MAX: Final = 8
"""Devices that a notice names: more than that are a fault of the line, not of a device."""
_FULL: Final = "the outbox is full"
_WHY_DROPPED: Final = {
    "outbox_age": "those in the outbox are older than outbox_max_age",
    "disk_full": "the disk is full",
}


def notices_of_port(port: Port, *, now_ms: int) -> Iterator[Notice]:
    """Yield notices about a port."""
    name = visible_of(port.name)
    if port.unreadable:
        fields = ", ".join(port.unreadable)
        yield Notice(
            Level.ATTENTION, f"Serial port {name}: what was reported cannot be read ({fields})."
        )
    if "state" in port.unreadable or "all" in port.unreadable:
        return
    if port.state == "lost":
        last = (
            f", its last reading came {duration_of(max(now_ms - port.last_reading_ms, 0) / 1000)}"
            " ago"
            if port.last_reading_ms is not None
            else ""
        )
        yield Notice(
            Level.ATTENTION,
            f"Serial port {name} is lost{last}{_why(port)}. Check plug and power: it is opened "
            "again by itself.",
        )
    elif port.state != "open" and port.trouble:
        yield Notice(
            Level.ATTENTION,
            f"Serial port {name} is not open{_why(port)}. It is tried again by itself.",
        )
    elif port.state != "open":
        yield Notice(
            Level.ATTENTION,
            f"Serial port {name} has not been found yet. Plug it in, or correct its path or usb "
            "in the configuration.",
        )
    else:
        yield from _notices_of_open_port(port, name)
        yield from _notices_of_damage(port, name)
        yield from _notices_of_devices(port, name)
        yield from _notices_of_clocks(port, name)
        yield from _notices_of_failures(port, name)


def _notices_of_open_port(port: Port, name: str) -> Iterator[Notice]:
    if port.held:
        yield Notice(
            Level.ATTENTION,
            f"Serial port {name} is not read because the outbox is full: its device waits. See why "
            "the broker does not take readings, or raise outbox_max.",
        )
    elif port.dropping is not None:
        yield Notice(
            Level.ATTENTION,
            f"Serial port {name} loses readings because {_WHY_DROPPED.get(port.dropping, _FULL)} "
            f"(when_full is {visible_of(port.when_full or 'unknown')}). See why the broker does "
            "not take readings.",
        )
    elif port.silent_seconds is not None:
        yield Notice(
            Level.ATTENTION,
            f"Serial port {name} has not received a byte for {duration_of(port.silent_seconds)}. "
            "Check sensor, cable and line settings; silent_after sets when this is shown.",
        )


def _notices_of_damage(port: Port, name: str) -> Iterator[Notice]:
    if port.damage_warning and port.damaged_share is not None:
        lately = (
            f" of the last {duration_of(port.damaged_share_seconds)}"
            if port.damaged_share_seconds is not None
            else ""
        )
        yield Notice(
            Level.ATTENTION,
            f"Serial port {name}: {share_of(port.damaged_share)} of the frames{lately} were "
            "damaged. Check sensor, cable and line settings.",
        )


def _notices_of_devices(port: Port, name: str) -> Iterator[Notice]:
    if port.devices_silent:
        named = ", ".join(visible_of(device) for device in port.silent_devices)
        others = port.devices_silent - len(port.silent_devices)
        more = f" and {others:,} more" if others > 0 else ""
        has = "is" if port.devices_silent == 1 else "are"
        yield Notice(
            Level.ATTENTION,
            f"{counted_of(port.devices_silent, 'device')} on serial port {name} {has} silent: "
            f"{named}{more}. Check power, wiring and address; device_silent_after sets when this "
            "is shown.",
        )


def _notices_of_clocks(port: Port, name: str) -> Iterator[Notice]:
    for device in port.devices:
        if device.clock_ms is not None:
            yield Notice(
                Level.ATTENTION,
                f"The clock of {visible_of(device.device)} on serial port {name} shows "
                f"{clock_of(device.clock_ms)}. Its readings have the time of arrival. Set its "
                "clock.",
            )


def _notices_of_failures(port: Port, name: str) -> Iterator[Notice]:
    """Yield a notice about polled devices that do not answer, unless other notices name them."""
    failing = [
        f"{visible_of(each.device)} ({visible_of(each.failed.reason)})"
        for each in port.devices
        if each.failed is not None
        and (each.failed.count or 0) >= FAILED_BEFORE_NOTICE
        and each.silent_seconds is None
    ]
    if failing:
        named, others = failing[:DEVICES_NAMED_MAX], len(failing) - DEVICES_NAMED_MAX
        more = f" and {others:,} more" if others > 0 else ""
        does = "does" if len(failing) == 1 else "do"
        yield Notice(
            Level.ATTENTION,
            f"{counted_of(len(failing), 'device')} on serial port {name} {does} not answer: "
            f"{', '.join(named)}{more}. Check power, wiring, address and line settings.",
        )


def _why(port: Port) -> str:
    return f": {sentence_of(port.trouble).rstrip('.')}" if port.trouble else ""
