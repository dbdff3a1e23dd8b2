"""Warnings about messages dropped or denied in the last hour, and about shared client ids."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from gateway.broker.access.rules.defaults import PAGE_CLIENT_ID, PAGE_LISTENER
from gateway.broker.access.rules.line import quoted, rule_allowing
from gateway.broker.core.permissions import PUBLISH_REFUSED, SUBSCRIBE_REFUSED
from gateway.broker.core.recent import Recent
from gateway.broker.core.takeovers import Shared
from gateway.broker.server.status.warning import StatusWarning, subject_of_client

WARNED_MAX: Final = 3
"""Maximum number of clients for which dropped messages or denials cause a warning, so that the
status page stays short."""

LISTED_MAX: Final = 20
"""Maximum number of entries in `dropped_last_hour` and `denied_last_hour`: the clients with the
highest counts."""

_DROPPED: Final = {
    "queue_full": ("its queue was full", "Raise [mqtt] max_mqueue_len, or end the session: {drop}"),
    "queue_bytes": (
        "its queue was full",
        "Raise [mqtt] max_mqueue_bytes, or end the session: {drop}",
    ),
    "queue_memory": (
        "the queues of clean sessions were full",
        "Raise [mqtt] max_queue_memory, or use a persistent session for the client",
    ),
    "displaced": (
        "its queue was full and drops the oldest ([[queues]] when_full)",
        "Raise [mqtt] max_mqueue_bytes, or let the client connect more often",
    ),
    "expired": ("their message expiry interval ended first", "Let the client connect more often"),
    "too_large": ("they exceed the maximum packet size of the client", "Raise it there"),
    "slow_reader": ("it reads too slowly", "Check its network, or reduce its subscriptions"),
    "refused": ("access rules no longer allow it these messages", "See the rules file"),
    "contents_lost": ("their contents were damaged on disk", "See what is missing: oncegate audit"),
    "disk_full": ("the disk is full", "Free space"),
}
"""The cause and the fix for each reason for dropped messages."""


def warnings_of_drops(
    largest: Sequence[Recent], total: int, since_start: int
) -> Iterator[StatusWarning]:
    others = total - sum(each.count.value() for each in largest)
    more = f" Since the start: {since_start:,} in all." if since_start > total else ""
    for number, each in enumerate(largest):
        is_last = number == len(largest) - 1 and not others
        yield _drop_warning(each, more if is_last else "")
    if others:
        yield StatusWarning(
            "messages_dropped", "other receivers",
            f"{_counted(others, 'more message')} dropped for other receivers in the last hour."
            f"{more}",
            "See messages.dropped_last_hour in `oncegate ctl status --json`.",
        )  # fmt: skip


_ALLOWED_BY_RULE: Final = (PUBLISH_REFUSED, SUBSCRIBE_REFUSED)


def _drop_warning(entry: Recent, more: str) -> StatusWarning:
    count = entry.count.value()
    if not entry.client_id:
        dropped = _counted(count, "message")
        return StatusWarning(
            "messages_dropped", f"before delivery: {entry.reason}",
            f"{dropped} dropped in the last hour, before delivery to any receiver: {entry.reason}."
            f"{more}",
            "See messages.dropped_last_hour in `oncegate ctl status --json`.",
        )  # fmt: skip
    drop = f"oncegate ctl drop {quoted(entry.client_id)}"
    why, fix = _DROPPED.get(entry.reason, (entry.reason, "See the log"))
    dropped = _counted(count, "message", f" for client {entry.client_id!r}")
    return StatusWarning(
        "messages_dropped", f"{subject_of_client(entry.client_id)}: {entry.reason}",
        f"{dropped} dropped in the last hour: {why}.{more}", f"{fix.format(drop=drop)}.",
    )  # fmt: skip


def warnings_of_denials(entries: Sequence[Recent]) -> list[StatusWarning]:
    published = [each for each in entries if each.reason == PUBLISH_REFUSED]
    return [_denied_publish_warning(each) for each in published[:WARNED_MAX]]


def _denied_publish_warning(entry: Recent) -> StatusWarning:
    topic = entry.topic or ""
    count = entry.count.value()
    times = "once" if count == 1 else f"{count:,} times"
    who = f"client {entry.client_id!r}"
    if entry.username is not None:
        who += f" of user {entry.username!r}"
    return StatusWarning(
        "access_denied", subject_of_client(entry.client_id),
        f"Denied {topic!r} {times} in the last hour: access rules do not let {who} publish there, "
        "and its messages were dropped.",
        f"To allow it, add to the file of [access] rules_file: {rule_for(entry)}",
    )  # fmt: skip


def warning_of_shared(shared: Shared) -> StatusWarning:
    displaced, newcomer = shared.addresses
    return StatusWarning(
        "client_id_shared", subject_of_client(shared.client_id),
        f"Two devices use the client id {shared.client_id!r}, at {displaced} and {newcomer}: they "
        f"disconnected each other {shared.count.value():,} times in the last hour.",
        "Give each device a client id of its own.",
    )  # fmt: skip


def recent_of(entries: Sequence[Recent]) -> list[dict[str, Any]]:
    """Return status objects that count the messages dropped or denied in the last hour.

    The key `rule` of an object contains the access rule that would allow a denied PUBLISH or
    SUBSCRIBE.
    """
    return [
        {
            "client_id": each.client_id,
            "username": each.username,
            "reason": each.reason,
            "topic": each.topic,
            "count": each.count.value(),
            "rule": rule_for(each) if each.reason in _ALLOWED_BY_RULE and each.topic else None,
        }
        for each in entries
    ]


def shared_of(entries: Sequence[Shared]) -> list[dict[str, Any]]:
    """Return status objects for client identifiers that are used by several devices."""
    return [
        {
            "client_id": each.client_id,
            "addresses": list(each.addresses),
            "count": each.count.value(),
        }
        for each in entries
    ]


def rule_for(entry: Recent) -> str:
    """Return a line for the rules file that would allow a denied action."""
    is_page = entry.client_id.startswith(PAGE_CLIENT_ID)
    action = "subscribe" if entry.reason == SUBSCRIBE_REFUSED else "publish"
    otherwise = f"listener {PAGE_LISTENER}" if is_page else "anonymous"
    return rule_allowing(action, entry.topic or "#", entry.username, otherwise=otherwise)


def _counted(count: int, noun: str, which: str = "") -> str:
    return f"1 {noun}{which} was" if count == 1 else f"{count:,} {noun}s{which} were"
