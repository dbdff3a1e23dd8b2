"""Builds the broker's status for the control socket (docs/formats/control-socket.md)."""

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from gateway.broker.core.broker import Broker
from gateway.broker.server.commit.metrics import BOUNDS_MS
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.broker.server.host.compiled import COMPILED
from gateway.broker.server.status.client_warnings import LISTED_MAX, recent_of, shared_of
from gateway.broker.server.status.totals import SessionTotals, Totals
from gateway.broker.server.status.warnings import warnings_of


class Identity:
    """The values in the status that stay the same while the process runs."""

    def __init__(
        self, gateway: str, boot: str, version: str, recovery: str, damage: str | None
    ) -> None:
        self.gateway = gateway
        self.boot = boot
        self.version = version
        self.recovery = recovery
        self.damage = damage


class Status:
    """Builder of the broker's status from totals over all sessions and from other counters."""

    def __init__(
        self,
        event_loop: EventLoop,
        totals: SessionTotals,
        identity: Identity,
        listeners: list[dict[str, Any]],
        disk: Callable[[], dict[str, Any]],
    ) -> None:
        """Set the sources of the values.

        Args:
            event_loop: the running broker.
            totals: sums over all sessions.
            identity: values that stay the same while the process runs.
            listeners: the status entries of the listeners. The list can change later.
            disk: function that returns the `disk` object of the status.
        """
        self.state = "starting"
        self._event_loop = event_loop
        self._totals = totals
        self._identity = identity
        self._listeners = listeners
        self._disk = disk
        self.needs_restart: Callable[[], tuple[str, ...]] = tuple
        """A function that returns the configuration keys whose new values need a restart."""
        self.bound_by_files: Callable[[], str | None] = lambda: None
        """A function that returns why fewer connections than `max_connections` are possible, or
        None."""
        self.operations: Callable[[], Mapping[str, int]] = dict
        """A function that returns how often each command was performed at the status page."""

    async def current(self) -> dict[str, Any]:
        """Compute new totals over all sessions, and return the complete status."""
        return self.of(await self._totals.current())

    def of(self, totals: Totals) -> dict[str, Any]:
        """Return the complete status with the given totals."""
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
            "warnings": [
                asdict(each)
                for each in warnings_of(
                    event_loop,
                    identity.damage,
                    self._listeners,
                    self.needs_restart(),
                    totals,
                    self.bound_by_files(),
                )
            ],
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
            "dropped_last_hour": recent_of(statistics.recently_dropped.largest(LISTED_MAX)),
            "duplicates_suppressed": statistics.duplicates_suppressed,
        },
        "queued": {
            "messages": totals.queued_messages,
            "bytes": totals.queued_bytes,
            "memory_bytes": broker.state.memory_queues.bytes_count,
            "memory_limit_bytes": broker.limits.max_queue_memory_bytes,
            "slowing": len(totals.slowing),
            "filling": len(totals.filling),
        },
        "inflight": totals.inflight,
        "awaiting_release": totals.awaiting_release,
        "errors": dict(sorted(statistics.errors.items())),
        "shared_client_ids_last_hour": shared_of(statistics.takeovers.largest(LISTED_MAX)),
        "denied_last_hour": recent_of(statistics.recently_denied.largest(LISTED_MAX)),
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
        "commit_ms_max_last_hour": round(1000 * metrics.seconds_max_recent, 3),
        "commit_histogram": {"bounds_ms": list(BOUNDS_MS), "counts": list(metrics.counts)},
    }
