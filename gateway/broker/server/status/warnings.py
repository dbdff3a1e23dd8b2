"""Warnings in the status about current problems and about events of the last hour.

Each warning has an identifier, a subject, an explanation and a fix. A warning about a past event
disappears after an hour. The counters in the status contain the totals since the start.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from gateway.broker.access.rules.line import quoted
from gateway.broker.hooks.dispatch import Hooks
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.broker.server.status.client_warnings import (
    LISTED_MAX,
    WARNED_MAX,
    warning_of_shared,
    warnings_of_denials,
    warnings_of_drops,
)
from gateway.broker.server.status.totals import Totals
from gateway.broker.server.status.warning import (
    SUBJECT_CHARACTERS_MAX,
    StatusWarning,
    subject_of_client,
)

COMMIT_SLOW_SECONDS: Final = 2.0
"""A commit that takes longer causes a warning: the SD card is wearing out or far too busy."""


def warnings_of(
    event_loop: EventLoop,
    damage: str | None,
    listeners: Sequence[dict[str, Any]],
    needs_restart: Sequence[str],
    totals: Totals,
    bound_by_files: str | None = None,
) -> list[StatusWarning]:
    """Return all current warnings, the most urgent first.

    Args:
        event_loop: the running broker.
        damage: description of damaged data that was found when the broker started, or None.
        listeners: the status entries of the listeners, with their certificates.
        needs_restart: configuration keys whose new values need a restart.
        totals: sums over all sessions.
        bound_by_files: a warning that the limit on open files allows fewer connections than
            `max_connections`, or None if the limit is high enough.
    """
    statistics = event_loop.broker.statistics
    return [
        *_disk_warnings(event_loop, damage),
        *_queue_warnings(totals),
        *_descriptor_warnings(event_loop, bound_by_files),
        *warnings_of_drops(
            statistics.recently_dropped.largest(WARNED_MAX),
            statistics.recently_dropped.total(),
            sum(statistics.dropped.values()),
        ),
        *warnings_of_denials(statistics.recently_denied.largest(LISTED_MAX)),
        *(warning_of_shared(each) for each in statistics.takeovers.largest(WARNED_MAX)),
        *_user_warnings(event_loop.authentications.problems),
        *_hook_warnings(event_loop.hooks),
        *_certificate_warnings(listeners),
        *_key_warnings(needs_restart),
    ]


def _disk_warnings(event_loop: EventLoop, damage: str | None) -> Iterator[StatusWarning]:
    if damage is not None:
        yield StatusWarning(
            "store_damaged", "store", f"The data on disk were damaged at the last start: {damage}.",
            "See what is missing: oncegate audit.",
        )  # fmt: skip
    if event_loop.limits.disk_full:
        yield StatusWarning(
            "disk_full", "disk", "The disk is full: new messages are refused, stored ones are "
            "delivered.",
            "Free space, or use a larger disk (disk.free_bytes, [disk] free_min).",
        )  # fmt: skip
    if event_loop.store.journal_total_bytes > event_loop.batch_limits.max_journal // 2:
        yield StatusWarning(
            "journal_backlog", "journal",
            "The journal is more than half full because it is not being exported.",
            "Check whether the uploader runs (oncegate upload).",
        )  # fmt: skip
    slowest_seconds = event_loop.committer.metrics.seconds_max_recent
    if slowest_seconds > COMMIT_SLOW_SECONDS:
        yield StatusWarning(
            "slow_writes", "disk",
            f"The slowest write of the last hour took {slowest_seconds:.1f} s: the SD card is very "
            "busy or wearing out.",
            "Replace the card if this continues; its wear is on the page of the card.",
        )  # fmt: skip


def _queue_warnings(totals: Totals) -> Iterator[StatusWarning]:
    if totals.filling:
        which, drop = _named(totals.filling), f"oncegate ctl drop {quoted(totals.filling[0])}"
        yield StatusWarning(
            "queue_filling", subject_of_client(totals.filling[0]),
            f"The queue of client {which} is 80 % full or more. New messages are dropped when it "
            "is full.",
            f"Bring the client back, raise [mqtt] max_mqueue_bytes, or end the session: {drop}.",
        )  # fmt: skip
    if totals.slowing:
        yield StatusWarning(
            "publishers_wait", subject_of_client(totals.slowing[0]),
            f"Client {_named(totals.slowing)} reads more slowly than others publish: publishers "
            "wait.",
            'Check its network, or give it when_full = "drop_newest" in [[queues]].',
        )  # fmt: skip


def _named(client_ids: Sequence[str]) -> str:
    others = len(client_ids) - 1
    return f"{client_ids[0]!r}" + (f" (and {others:,} more)" if others else "")


def _descriptor_warnings(event_loop: EventLoop, bound: str | None) -> Iterator[StatusWarning]:
    if event_loop.committer.writer.waits_for_descriptor:
        yield StatusWarning(
            "open_files", "journal",
            "Nothing new is acknowledged because the journal cannot open a file.",
            "Raise the limit of open files (LimitNOFILE of the service, --ulimit nofile of a "
            "container).",
        )  # fmt: skip
    most = event_loop.limits.max_connections
    if bound is not None and event_loop.broker.statistics.connections_open > most * 3 // 4:
        yield StatusWarning(
            "connections_bounded", "connections", f"{bound}.", "Raise the limit of open files."
        )


def _user_warnings(problems: Sequence[str]) -> Iterator[StatusWarning]:
    for problem in problems:
        yield StatusWarning(
            "users_unavailable", problem[:SUBJECT_CHARACTERS_MAX], f"Users: {problem}.",
            "Check [access] and the server it names.",
        )  # fmt: skip


def _hook_warnings(hook: Hooks | None) -> Iterator[StatusWarning]:
    if hook is None:
        return
    if hook.problem is not None:
        yield StatusWarning(
            "hook_stopped", hook.module, f"The hook is not running: {hook.problem}.",
            "Fix the module, and restart the broker.",
        )  # fmt: skip
    if hook.failed:
        yield StatusWarning(
            "hook_failed", hook.module, f"The hook {hook.module} failed {hook.failed} times.",
            "The log has the first errors.",
        )  # fmt: skip
    if hook.lost:
        yield StatusWarning(
            "hook_slow", hook.module,
            f"The hook {hook.module} was too slow and lost {hook.lost} events.",
            "Move its work to a separate process, or do less for each event.",
        )  # fmt: skip


def _certificate_warnings(listeners: Sequence[dict[str, Any]]) -> Iterator[StatusWarning]:
    """Yield one warning for each certificate problem, even if it affects several listeners."""
    found = {
        each["certificate"]["problem"]: each["certificate"]["subject"]
        for each in listeners
        if each.get("certificate", {}).get("problem") is not None
    }
    for problem, subject in found.items():
        yield StatusWarning(
            "certificate", str(subject)[:SUBJECT_CHARACTERS_MAX], f"Certificate: {problem}.",
            "Renew it: the new files are used within a minute.",
        )  # fmt: skip


def _key_warnings(needs_restart: Sequence[str]) -> Iterator[StatusWarning]:
    if needs_restart:
        yield StatusWarning(
            "restart_needed", "gateway",
            f"Other values of {', '.join(needs_restart)} wait for a restart of the gateway.",
            "Restart it: systemctl restart oncegate.target.",
        )  # fmt: skip
