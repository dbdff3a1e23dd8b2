"""Alarm conditions of a serial port and of the devices that are connected to it.

This module does no I/O.
"""

from collections.abc import Iterator
from typing import Final

from api.alarms.conditions.condition import Condition, Level
from api.models.bridge import Port
from api.wording import clock_of, counted_of, duration_of, sentence_of, share_of, visible_of

FAILED_BEFORE_CONDITION: Final = 3
"""Consecutive failed requests to a device that raise an alarm; one may be a disturbance."""
DEVICES_NAMED_MAX: Final = 8
"""Devices that one condition names, at most. If more fail, the fault is in the line."""
_FULL: Final = "the outbox is full"
_WHY_DROPPED: Final = {
    "outbox_age": "readings in the outbox are older than outbox_max_age",
    "disk_full": "the disk is full",
}


def conditions_of_port(port: Port, *, now_ms: int) -> Iterator[Condition]:
    """Yield the alarm conditions of a serial port and its devices that are true now."""
    name = visible_of(port.name)
    if port.unreadable:
        fields = ", ".join(port.unreadable)
        yield _condition(
            "port_report", name, f"Serial port {name}: its report cannot be read ({fields}).",
            "Restart the gateway: bridge and page are probably of different versions.",
        )  # fmt: skip
    if "state" in port.unreadable or "all" in port.unreadable:
        return
    if port.state == "open":
        yield from _open_port_conditions(port, name)
        yield from _damage_conditions(port, name)
        yield from _device_conditions(port, name)
        yield from _clock_conditions(port, name)
        yield from _failure_conditions(port, name)
    else:
        yield _closed_port_condition(port, name, now_ms)


def _condition(id: str, name: str, sentence: str, fix: str) -> Condition:
    return Condition(id, f"port {name}", Level.ATTENTION, sentence, fix)


def _closed_port_condition(port: Port, name: str, now_ms: int) -> Condition:
    if port.state == "lost":
        last = (
            f" (last reading {duration_of(max(now_ms - port.last_reading_ms, 0) / 1000)} ago)"
            if port.last_reading_ms is not None
            else ""
        )
        return _condition(
            "port_lost", name, f"Serial port {name} is lost{last}{_why(port)}.",
            "Check plug and power. The bridge opens the port again automatically.",
        )  # fmt: skip
    if port.trouble:
        return _condition(
            "port_closed", name, f"Serial port {name} is not open{_why(port)}.",
            "Check plug and path. The bridge tries again automatically.",
        )  # fmt: skip
    return _condition(
        "port_missing", name, f"Serial port {name} has not been found yet.",
        "Plug it in, or correct its path or usb in the configuration.",
    )  # fmt: skip


def _open_port_conditions(port: Port, name: str) -> Iterator[Condition]:
    if port.held:
        yield _condition(
            "port_held", name,
            f"Serial port {name} is not read because the outbox is full: its device waits.",
            "Find out why the broker does not accept readings, or raise outbox_max.",
        )  # fmt: skip
    elif port.dropping is not None:
        yield _condition(
            "readings_dropped", name,
            f"Serial port {name} loses readings because {_WHY_DROPPED.get(port.dropping, _FULL)} "
            f"(when_full is {visible_of(port.when_full or 'unknown')}).",
            "Find out why the broker does not accept readings.",
        )  # fmt: skip
    elif port.silent_seconds is not None:
        yield _condition(
            "port_silent", name,
            f"Serial port {name} has not received a byte for {duration_of(port.silent_seconds)}.",
            "Check sensor, cable and line settings; silent_after sets when this is shown.",
        )  # fmt: skip


def _damage_conditions(port: Port, name: str) -> Iterator[Condition]:
    if port.damage_warning and port.damaged_share is not None:
        lately = (
            f" of the last {duration_of(port.damaged_share_seconds)}"
            if port.damaged_share_seconds is not None
            else ""
        )
        yield _condition(
            "frames_damaged", name,
            f"Serial port {name}: {share_of(port.damaged_share)} of the frames{lately} were "
            "damaged.",
            "Check sensor, cable and line settings.",
        )  # fmt: skip


def _device_conditions(port: Port, name: str) -> Iterator[Condition]:
    if port.devices_silent:
        named = ", ".join(visible_of(device) for device in port.silent_devices)
        others = port.devices_silent - len(port.silent_devices)
        more = f" and {others:,} more" if others > 0 else ""
        has = "is" if port.devices_silent == 1 else "are"
        yield _condition(
            "device_silent", name,
            f"{counted_of(port.devices_silent, 'device')} on serial port {name} {has} silent: "
            f"{named}{more}.",
            "Check power, wiring and address; device_silent_after sets when this is shown.",
        )  # fmt: skip


def _clock_conditions(port: Port, name: str) -> Iterator[Condition]:
    for device in port.devices:
        if device.clock_ms is not None:
            yield _condition(
                "device_clock", f"{name}, device {visible_of(device.device)}",
                f"The clock of {visible_of(device.device)} on serial port {name} shows "
                f"{clock_of(device.clock_ms)}. Its readings have their time of arrival instead.",
                "Set its clock.",
            )  # fmt: skip


def _failure_conditions(port: Port, name: str) -> Iterator[Condition]:
    """Yield at most one condition, which lists the polled devices that do not respond.

    Devices that another condition already reports as silent are not listed. `name` is the port's
    name.
    """
    failing = [
        f"{visible_of(each.device)} ({visible_of(each.failed.reason)})"
        for each in port.devices
        if each.failed is not None
        and (each.failed.count or 0) >= FAILED_BEFORE_CONDITION
        and each.silent_seconds is None
    ]
    if failing:
        named, others = failing[:DEVICES_NAMED_MAX], len(failing) - DEVICES_NAMED_MAX
        more = f" and {others:,} more" if others > 0 else ""
        does = "does" if len(failing) == 1 else "do"
        yield _condition(
            "device_unanswered", name,
            f"{counted_of(len(failing), 'device')} on serial port {name} {does} not answer: "
            f"{', '.join(named)}{more}.",
            "Check power, wiring, address and line settings.",
        )  # fmt: skip


def _why(port: Port) -> str:
    return f": {sentence_of(port.trouble).rstrip('.')}" if port.trouble else ""
