"""The broker's status as the control socket has it: docs/formats/control-socket.md draws it."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from gateway.core.broker import Broker
from gateway.server.event_loop.event_loop import EventLoop
from gateway.server.host.compiled import COMPILED
from gateway.server.status.totals import SessionTotals, Totals

COMMIT_SLOW_SECONDS = 2.0
"""A commit that takes this long is worth a warning: a card near its end, or far too busy."""


class Identity:
    """What does not change while the process runs."""

    def __init__(
        self, gateway: str, boot: str, version: str, recovery: str, damage: str | None
    ) -> None:
        self.gateway = gateway
        self.boot = boot
        self.version = version
        self.recovery = recovery
        self.damage = damage


class Status:
    """Makes the status of totals and of what is counted elsewhere."""

    def __init__(
        self,
        event_loop: EventLoop,
        totals: SessionTotals,
        identity: Identity,
        listeners: list[dict[str, Any]],
        disk: Callable[[], dict[str, Any]],
    ) -> None:
        """Args:
        listeners: what is shown of each, which may become more.
        disk: returns the status's `disk`.
        """
        self.state = "starting"
        self._event_loop = event_loop
        self._totals = totals
        self._identity = identity
        self._listeners = listeners
        self._disk = disk
        self.needs_restart: Callable[[], tuple[str, ...]] = tuple
        """Returns the keys whose values wait for a restart."""
        self.operations: Callable[[], Mapping[str, int]] = dict
        """Returns what was done at the page, by command."""

    async def current(self) -> dict[str, Any]:
        """Return the whole status, from a walk over the sessions that begins now."""
        return self.of(await self._totals.current())

    def of(self, totals: Totals) -> dict[str, Any]:
        """Return the whole status with these totals."""
        event_loop, identity = self._event_loop, self._identity
        hooks = event_loop.hooks
        return {
            **self._process(),
            "listeners": self._listeners,
            **_clients_of(event_loop.broker, totals),
            **_messages_of(event_loop.broker, totals),
            "journal": _journal_of(event_loop),
            "disk": self._disk(),
            "store": {"recovery": identity.recovery, "detail": identity.damage},
            "hooks": None if hooks is None else hooks.status(),
            "needs_restart": list(self.needs_restart()),
            "operations": dict(sorted(self.operations().items())),
            "warnings": _warnings_of(event_loop, identity)
            + _warnings_about(self._listeners)
            + _warnings_of_keys(self.needs_restart()),
        }

    def _process(self) -> dict[str, Any]:
        identity = self._identity
        time_ms, quality = self._event_loop.wall_clock.shown()
        uptime_seconds = self._event_loop.uptime_seconds()
        return {
            "gateway": identity.gateway,
            "boot": identity.boot,
            "version": identity.version,
            "compiled": COMPILED,
            "pid": os.getpid(),
            "state": self.state,
            "time_ms": time_ms,
            "clock": quality.word,
            "started_ms": time_ms - int(uptime_seconds * 1000),
            "uptime_seconds": round(uptime_seconds, 3),
        }


def _clients_of(broker: Broker, totals: Totals) -> dict[str, Any]:
    statistics = broker.statistics
    return {
        "connections": {
            "open": statistics.connections_open,
            "accepted": statistics.connections_accepted,
            "refused": statistics.connections_refused,
            "limit": broker.limits.max_connections,
        },
        "sessions": {
            "connected": totals.connected,
            "persistent": totals.persistent,
            "total": totals.sessions,
        },
        "subscriptions": broker.state.tree.subscription_count,
        "retained": len(broker.state.retained),
    }


def _messages_of(broker: Broker, totals: Totals) -> dict[str, Any]:
    statistics = broker.statistics
    return {
        "messages": {
            "received": {
                "qos0": statistics.received_qos0,
                "qos1": statistics.received_qos1,
                "qos2": statistics.received_qos2,
            },
            "sent": {
                "qos0": statistics.sent_qos0,
                "qos1": statistics.sent_qos1,
                "qos2": statistics.sent_qos2,
            },
            "dropped": dict(sorted(statistics.dropped.items())),
            "duplicates_suppressed": statistics.duplicates_suppressed,
        },
        "queued": {
            "messages": totals.queued_messages,
            "bytes": totals.queued_bytes,
        },
        "inflight": totals.inflight,
        "awaiting_release": totals.awaiting_release,
        "errors": dict(sorted(statistics.errors.items())),
    }


def _journal_of(event_loop: EventLoop) -> dict[str, Any]:
    metrics, recorder = event_loop.committer.metrics, event_loop.broker.batch
    return {
        "batches": metrics.batches,
        "facts": recorder.next_sequence - event_loop.first_sequence,
        "first_sequence": event_loop.first_sequence,
        "last_sequence": recorder.next_sequence - 1,
        "exported_sequence": event_loop.store.exported_sequence,
        "bytes": event_loop.store.journal_total_bytes,
        "commit_ms_mean": round(metrics.mean_ms(), 3),
        "commit_ms_max": round(1000 * metrics.seconds_max, 3),
    }


def _warnings_about(listeners: list[dict[str, Any]]) -> list[str]:
    """Return what is wrong with certificates; of a listener with two addresses once."""
    problems = [each["certificate"]["problem"] for each in listeners if "certificate" in each]
    return [f"Certificate: {each}." for each in dict.fromkeys(problems) if each is not None]


def _warnings_of_keys(needs_restart: tuple[str, ...]) -> list[str]:
    if not needs_restart:
        return []
    keys = ", ".join(needs_restart)
    mend = "systemctl restart oncegate.target"
    return [f"Other values of {keys} wait for a restart of the gateway: {mend}."]


def _warnings_of(event_loop: EventLoop, identity: Identity) -> list[str]:
    warnings: list[str] = []
    if identity.damage is not None:
        warnings.append(
            f"The data on disk were damaged at the last start: {identity.damage}. "
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
    if event_loop.committer.metrics.seconds_max > COMMIT_SLOW_SECONDS:
        warnings.append(
            f"The slowest write took {event_loop.committer.metrics.seconds_max:.1f} s: "
            "the SD card is very busy or wearing out."
        )
    dropped = sum(event_loop.broker.statistics.dropped.values())
    if dropped:
        warnings.append(
            f"{dropped} messages were dropped for receivers that were away or too slow: "
            "see messages.dropped, and [mqtt] max_mqueue_len and max_mqueue_bytes."
        )
    warnings += [f"Users: {each}." for each in event_loop.authentications.problems]
    if event_loop.hooks is not None:
        warnings += event_loop.hooks.warnings()
    return warnings
