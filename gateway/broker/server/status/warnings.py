"""Warnings of the status: what needs attention now, or happened within the last hour.

Each is a sentence with the fix. A warning about a past event disappears after an hour; the status's
counters keep the totals since the start.
"""

from collections.abc import Sequence
from typing import Any, Final

from gateway.broker.access.rule_line import quoted
from gateway.broker.core.recent import Recent
from gateway.broker.core.rules.permissions import PUBLISH_REFUSED, SUBSCRIBE_REFUSED
from gateway.broker.core.takeovers import Shared
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.broker.server.status.totals import Totals

COMMIT_SLOW_SECONDS: Final = 2.0
"""A commit that takes this long causes a warning: a card near its end, or far too busy."""

WARNED_MAX: Final = 3
"""Clients whose drops or denials are explained in warnings, at most: the page stays short."""

LISTED_MAX: Final = 20
"""Entries of `dropped_last_hour` and of `denied_last_hour`: the clients with the most."""

_DROPPED: Final = {
    "queue_full": "its queue was full. Raise [mqtt] max_mqueue_len, or end the session: {drop}",
    "queue_bytes": "its queue was full. Raise [mqtt] max_mqueue_bytes, or end the session: {drop}",
    "queue_memory": "the queues of clean sessions were full. Raise [mqtt] max_queue_memory, or let "
    "the client have a persistent session",
    "displaced": "its queue was full and drops the oldest ([[queues]] when_full). Raise [mqtt] "
    "max_mqueue_bytes, or let the client connect more often",
    "expired": "their message expiry interval ended first. Let the client connect more often",
    "too_large": "they exceed the maximum packet size of the client. Raise it there",
    "slow_reader": "it reads too slowly. See its network, or subscribe it to less",
    "refused": "access rules no longer allow it these messages",
    "contents_lost": "their contents were damaged on disk. See what is missing: oncegate audit",
    "disk_full": "the disk is full. Free space",
}
"""By reason: the cause and the fix."""


def warnings_of(
    event_loop: EventLoop,
    damage: str | None,
    listeners: Sequence[dict[str, Any]],
    needs_restart: Sequence[str],
    totals: Totals,
    bound_by_files: str | None = None,
) -> list[str]:
    """Return the warnings, the most urgent first.

    Args:
        damage: what the start found damaged, None for nothing.
        listeners: as the status shows them, with their certificates.
        needs_restart: keys of the configuration whose values wait for a restart.
        totals: of a walk over the sessions.
        bound_by_files: why connections are bounded below `max_connections`, if they are.
    """
    statistics = event_loop.broker.statistics
    warnings = [
        *_of_disk(event_loop, damage),
        *_of_queues(totals),
        *_of_descriptors(event_loop, bound_by_files),
        *_of_drops(
            statistics.recently_dropped.largest(WARNED_MAX),
            statistics.recently_dropped.total(),
            sum(statistics.dropped.values()),
        ),
        *_of_denials(statistics.recently_denied.largest(LISTED_MAX)),
    ]
    warnings += [_of_shared(each) for each in statistics.takeovers.largest(WARNED_MAX)]
    warnings += [f"Users: {each}." for each in event_loop.authentications.problems]
    if event_loop.hooks is not None:
        warnings += event_loop.hooks.warnings()
    return warnings + _of_certificates(listeners) + _of_keys(needs_restart)


def recent_of(entries: Sequence[Recent]) -> list[dict[str, Any]]:
    """Return entries of the last hour in the status's form."""
    return [
        {
            "client_id": each.client_id,
            "username": each.username,
            "reason": each.reason,
            "topic": each.topic,
            "count": each.count.value(),
        }
        for each in entries
    ]


def _of_disk(event_loop: EventLoop, damage: str | None) -> list[str]:
    warnings: list[str] = []
    if damage is not None:
        warnings.append(
            f"The data on disk were damaged at the last start: {damage}. "
            "See what is missing: oncegate audit."
        )
    if event_loop.limits.disk_full:
        warnings.append(
            "The disk is full: nothing new is taken, what is there is delivered. Free space, or "
            "use a larger disk (disk.free_bytes, [disk] free_min)."
        )
    if event_loop.store.journal_total_bytes > event_loop.batch_limits.max_journal // 2:
        warnings.append(
            "The journal is more than half full because it is not being exported: "
            "look whether the uploader runs (oncegate upload)."
        )
    slowest_seconds = event_loop.committer.metrics.seconds_max_recent
    if slowest_seconds > COMMIT_SLOW_SECONDS:
        warnings.append(
            f"The slowest write of the last hour took {slowest_seconds:.1f} s: "
            "the SD card is very busy or wearing out."
        )
    return warnings


def _of_queues(totals: Totals) -> list[str]:
    warnings: list[str] = []
    if totals.filling:
        which, drop = _named(totals.filling), f"oncegate ctl drop {quoted(totals.filling[0])}"
        warnings.append(
            f"The queue of client {which} is 80 % full or more. New messages are dropped when it "
            "is full: bring the client back, raise [mqtt] max_mqueue_bytes, or end the session: "
            f"{drop}."
        )
    if totals.slowing:
        warnings.append(
            f"Client {_named(totals.slowing)} reads more slowly than others publish: publishers "
            'wait. See its network, or give it when_full = "drop_newest" in [[queues]].'
        )
    return warnings


def _named(client_ids: Sequence[str]) -> str:
    others = len(client_ids) - 1
    return f"{client_ids[0]!r}" + (f" (and {others:,} more)" if others else "")


def _of_descriptors(event_loop: EventLoop, bound: str | None) -> list[str]:
    warnings: list[str] = []
    if event_loop.committer.writer.waits_for_descriptor:
        warnings.append(
            "Nothing new is acknowledged because the journal can open no file. Raise the limit of "
            "open files (LimitNOFILE of the service, --ulimit nofile of a container)."
        )
    most = event_loop.limits.max_connections
    if bound is not None and event_loop.broker.statistics.connections_open > most * 3 // 4:
        warnings.append(f"{bound}.")
    return warnings


def _of_drops(largest: Sequence[Recent], total: int, since_start: int) -> list[str]:
    warnings = [_of_drop(each) for each in largest]
    others = total - sum(each.count.value() for each in largest)
    if others:
        warnings.append(
            f"{_counted(others, 'more message')} dropped for other receivers in the last hour: "
            "see messages.dropped_last_hour in `oncegate ctl status --json`."
        )
    if warnings and since_start > total:
        warnings[-1] += f" Since the start: {since_start:,} in all."
    return warnings


def _of_drop(entry: Recent) -> str:
    count = entry.count.value()
    if not entry.client_id:
        dropped = _counted(count, "message")
        return (
            f"{dropped} dropped in the last hour, before delivery to any receiver: {entry.reason}."
        )
    drop = f"oncegate ctl drop {quoted(entry.client_id)}"
    why = _DROPPED.get(entry.reason, entry.reason).format(drop=drop)
    dropped = _counted(count, "message", f" for client {entry.client_id!r}")
    return f"{dropped} dropped in the last hour: {why}."


def _of_denials(entries: Sequence[Recent]) -> list[str]:
    published = [each for each in entries if each.reason == PUBLISH_REFUSED]
    return [_of_denied_publish(each) for each in published[:WARNED_MAX]]


def _of_denied_publish(entry: Recent) -> str:
    topic = entry.topic or ""
    count = entry.count.value()
    times = "once" if count == 1 else f"{count:,} times"
    who = f"client {entry.client_id!r}"
    if entry.username is not None:
        who += f" of user {entry.username!r}"
    return (
        f"Denied {topic!r} {times} in the last hour: access rules do not let {who} publish there, "
        "and its messages were dropped. "
        f"To allow it, add to the file of [access] rules_file: {rule_for(entry)}"
    )


def _of_shared(shared: Shared) -> str:
    displaced, newcomer = shared.addresses
    return (
        f"Two devices use the client id {shared.client_id!r}, at {displaced} and {newcomer}: they "
        f"disconnected each other {shared.count.value():,} times in the last hour. Give each "
        "device a client id of its own."
    )


def shared_of(entries: Sequence[Shared]) -> list[dict[str, Any]]:
    """Return client identifiers shared by several devices, in the status's form."""
    return [
        {
            "client_id": each.client_id,
            "addresses": list(each.addresses),
            "count": each.count.value(),
        }
        for each in entries
    ]


def rule_for(entry: Recent) -> str:
    """Return the access rule that would allow a denied action."""
    who = "anonymous" if entry.username is None else f"user {quoted(entry.username)}"
    action = "subscribe" if entry.reason == SUBSCRIBE_REFUSED else "publish"
    return f"allow {who} {action} {quoted(entry.topic or '#')}"


def _of_certificates(listeners: Sequence[dict[str, Any]]) -> list[str]:
    """Return the problems of certificates, each once, even for a listener with two addresses."""
    problems = [each["certificate"]["problem"] for each in listeners if "certificate" in each]
    return [f"Certificate: {each}." for each in dict.fromkeys(problems) if each is not None]


def _of_keys(needs_restart: Sequence[str]) -> list[str]:
    if not needs_restart:
        return []
    keys = ", ".join(needs_restart)
    command = "systemctl restart oncegate.target"
    return [f"Other values of {keys} wait for a restart of the gateway: {command}."]


def _counted(count: int, noun: str, which: str = "") -> str:
    return f"1 {noun}{which} was" if count == 1 else f"{count:,} {noun}s{which} were"
