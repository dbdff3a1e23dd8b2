"""All kinds of alarms, each with its title. Kinds that report lost data are marked.

This module does no I/O.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Kind:
    """A kind of alarm.

    `is_loss` is True if alarms of this kind report lost readings or messages. Such alarms stay
    active until an operator acknowledges them.
    """

    title: str
    is_loss: bool = False


KINDS: Final = {
    "access_denied": Kind("Access rules deny a client's messages"),
    "bridge_disconnected": Kind("Bridge without connection to the broker"),
    "broker_down": Kind("Broker does not answer"),
    "broker_state": Kind("Broker is starting or stopping"),
    "card_report": Kind("Report about the SD card unreadable"),
    "card_wear": Kind("SD card wears out soon"),
    "certificate": Kind("Certificate of a listener"),
    "client_id_shared": Kind("Two devices use one client id"),
    "clock_unsynchronised": Kind("Clock not synchronised"),
    "connections_bounded": Kind("Connections limited by open files"),
    "device_clock": Kind("Clock of a device is wrong"),
    "device_silent": Kind("Device is silent"),
    "device_unanswered": Kind("Device does not answer"),
    "disk_full": Kind("Disk is full"),
    "disk_low": Kind("Disk is nearly full"),
    "frames_damaged": Kind("Damaged frames on a serial port"),
    "hook_failed": Kind("Hook failed"),
    "hook_slow": Kind("Hook lost events", is_loss=True),
    "hook_stopped": Kind("Hook is not running"),
    "journal_backlog": Kind("Journal is not exported"),
    "messages_dropped": Kind("Messages were dropped", is_loss=True),
    "open_files": Kind("Too many open files"),
    "page_certificate": Kind("Certificate of this page"),
    "password_guessing": Kind("Many wrong passwords"),
    "port_closed": Kind("Serial port cannot be opened"),
    "port_held": Kind("Serial port is not read"),
    "port_lost": Kind("Serial port is lost"),
    "port_missing": Kind("Serial port not found"),
    "port_report": Kind("Report about a serial port unreadable"),
    "port_silent": Kind("Serial port is silent"),
    "program_absent": Kind("Process not started"),
    "program_silent": Kind("Process does not report"),
    "provisioning": Kind("gateway.toml was refused"),
    "publishers_wait": Kind("Publishers wait for a slow client"),
    "queue_filling": Kind("Queue is nearly full"),
    "readings_dropped": Kind("Readings were dropped", is_loss=True),
    "report_unreadable": Kind("Report of a process unreadable"),
    "restart_needed": Kind("Configuration waits for a restart"),
    "slow_writes": Kind("Slow writes"),
    "store_damaged": Kind("Store was damaged", is_loss=True),
    "temperature": Kind("Processor is hot"),
    "under_voltage": Kind("Power supply too weak"),
    "update": Kind("Update"),
    "update_record": Kind("Record of updates"),
    "uplink_disconnected": Kind("Uplink without connection"),
    "uplink_refused": Kind("Upstream broker refused messages", is_loss=True),
    "upload_backlog": Kind("Segments waiting to be uploaded"),
    "upload_failing": Kind("Upload fails"),
    "users_unavailable": Kind("Source of users does not answer"),
}
"""All kinds by identifier. A test fails if a condition has an identifier that is missing here."""

UNKNOWN: Final = Kind("Condition of another version")
"""Kind of an alarm whose identifier is missing in `KINDS`, such as one from another version."""


def kind_of(id: str) -> Kind:
    """Return the kind of alarm with the identifier `id`, or `UNKNOWN` if there is no such kind."""
    return KINDS.get(id, UNKNOWN)
