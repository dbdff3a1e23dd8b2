"""Task that examines the gateway every few seconds and updates the table of alarms.

Changes are written to disk. They are also sent to the broker, so that the bridge can publish them.
If the broker does not respond, the state of the other processes is unknown. Alarms about these
processes are then left unchanged.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from api.alarms.alarm import Alarm, Key
from api.alarms.conditions.condition import Condition, Level
from api.alarms.conditions.gateway import conditions_of
from api.alarms.conditions.guessing import Guessing
from api.alarms.conditions.machine import conditions_of_machine
from api.alarms.conditions.thresholds import Thresholds
from api.alarms.kinds import KINDS
from api.alarms.payloads import payloads_of
from api.alarms.store import AlarmStore
from api.alarms.table import AlarmTable
from api.history.recorder import until_reported
from api.models.broker import Certificate
from api.problems import fix_of
from api.status.card import CardReport
from api.status.control_socket import BrokerProblem
from api.status.machine import Machine
from api.status.observer import Observer, Overview
from gateway.process.control.messages import Refused

logger = logging.getLogger(__name__)

STARTING_SECONDS: Final = {
    "broker_down": 15.0,
    "bridge_disconnected": 15.0,
    "uplink_disconnected": 15.0,
    "port_missing": 30.0,
    "broker_state": 60.0,
    "program_absent": 60.0,
}
"""Seconds that a condition must last before it raises an alarm, because it is normal at startup."""


_ALWAYS_KNOWN: Final = frozenset({"broker_down", "temperature", "under_voltage"})
"""Kinds of alarms whose conditions are known even if the broker does not respond."""


@dataclass(frozen=True)
class Sources:
    """Functions that return the current states of the SD card, the certificate and the machine."""

    card: Callable[[], CardReport | None]
    certificate: Callable[[], Certificate | None]
    machine: Callable[[], Machine]


class AlarmWatch:
    """Task that examines the gateway every few seconds and updates the table of alarms.

    All methods must be called from one event loop.
    """

    def __init__(
        self,
        observer: Observer,
        store: AlarmStore,
        sources: Sources,
        thresholds: Thresholds,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create the watch without any alarms.

        `clock` returns the time of a monotonic clock in seconds.
        """
        self._clock: Final = clock
        self._observer: Final = observer
        self._store: Final = store
        self._sources: Final = sources
        self._thresholds: Final = thresholds
        self._table = AlarmTable()
        self._patience: Final = Patience(
            {**STARTING_SECONDS, "clock_unsynchronised": thresholds.clock_seconds}
        )
        self._guessing: Final = Guessing()
        self._unpublished = True
        self._turn: Final = asyncio.Lock()

    async def run(self) -> None:
        """Load stored alarms, then examine the gateway every few seconds until cancelled."""
        await self.load()
        try:
            while True:
                await self.examine()
                # At the same time as the history, so that one query to the broker serves both.
                await until_reported()
        finally:
            self._store.close()

    async def load(self) -> None:
        """Load from disk the alarms that were active when an earlier run stopped."""
        self._table = AlarmTable(await asyncio.to_thread(self._store.open))

    async def _load_late(self) -> None:
        """Open the file of alarms that could not be opened earlier, if that is possible now.

        The alarms that were active in an earlier run are loaded, and those of this run are saved.
        """
        stored = await asyncio.to_thread(self._store.open)
        if not self._store.is_missing:
            self._table.add_stored(stored)
            await asyncio.to_thread(self._store.save, self._table.active())
            self._unpublished = True

    def active(self) -> Sequence[Alarm]:
        """Return the active alarms, the most important first."""
        return self._table.active()

    @property
    def problem(self) -> str | None:
        """The reason why alarms cannot be written to disk, or None if there is no problem."""
        return self._store.problem

    @property
    def not_listed(self) -> int:
        """The number of conditions that have no alarm because too many alarms are active."""
        return self._table.not_listed

    async def cleared(
        self, *, before: int | None, limit: int, level: Level | None = None
    ) -> list[tuple[int, Alarm]]:
        """Return cleared alarms with their row numbers, the latest first.

        Args:
            before: if given, only alarms with lower row numbers are returned.
            limit: the maximum number of alarms to return.
            level: if given, only alarms of this level are returned.
        """
        return await asyncio.to_thread(self._store.cleared, before=before, limit=limit, level=level)

    async def examine(self) -> None:
        """Examine the gateway once. Save and publish the alarms that have changed."""
        async with self._turn:
            if self._store.is_missing:
                await self._load_late()
            conditions = await self._conditions()
            now = self._clock()
            lasting = self._patience.lasting(conditions, now=now)
            await self._keep(self._table.update(lasting, now=now, now_ms=_now_ms()))

    async def acknowledge(self, key: Key, *, by: str) -> Alarm | None:
        """Acknowledge the alarm with the kind and subject in `key`.

        The keyword argument `by` is the name of the person or program that acknowledges the alarm.
        Return the changed alarm, or None if the alarm is not active.
        """
        async with self._turn:
            alarm = self._table.acknowledge(key, by=by, now_ms=_now_ms())
            if alarm is not None:
                await self._keep([alarm])
            return alarm

    def conditions_in(self, overview: Overview) -> tuple[Condition, ...]:
        """Return all alarm conditions that are true now, the most severe first.

        `overview` contains the reports of the processes. The states of the SD card, the certificate
        and the machine are read during the call.
        """
        limit = self._thresholds.wrong_passwords
        found = (
            *conditions_of(
                overview,
                self._sources.card(),
                self._sources.certificate(),
                self._thresholds,
            ),
            *self._guessing.conditions(overview.broker, limit, now=self._clock()),
            *conditions_of_machine(self._sources.machine(), self._thresholds),
        )
        return tuple(sorted(found, key=lambda condition: condition.level, reverse=True))

    async def _conditions(self) -> Sequence[Condition]:
        try:
            overview = await self._observer.overview()
        except (BrokerProblem, Refused) as problem:
            return self._conditions_without_broker(problem)
        return self.conditions_in(overview)

    def _conditions_without_broker(self, problem: BrokerProblem | Refused) -> list[Condition]:
        reason, fix = (
            (problem.reason, problem.fix)
            if isinstance(problem, BrokerProblem)
            else (
                f"The broker refuses to report its status: {problem.message}.",
                fix_of(problem) or "",
            )
        )
        known = [
            alarm.condition
            for alarm in self._table.active()
            if alarm.is_present and alarm.id not in _ALWAYS_KNOWN
        ]
        machine = conditions_of_machine(self._sources.machine(), self._thresholds)
        return [Condition("broker_down", "broker", Level.BAD, reason, fix), *known, *machine]

    async def _keep(self, changed: Sequence[Alarm]) -> None:
        if changed or self._store.problem is not None:
            await asyncio.to_thread(self._store.save, changed)
        for alarm in changed:
            logger.info("alarm %s (%s): %s", alarm.id, alarm.subject, _event_of(alarm))
        self._unpublished |= bool(changed)
        if self._unpublished:
            await self._publish(payloads_of(self._table.active(), KINDS))

    async def _publish(self, kinds: Mapping[str, object]) -> None:
        try:
            await self._observer.publish_alarms(kinds)
        except (BrokerProblem, Refused) as problem:
            logger.debug("the broker does not accept alarms: %s", problem)
        else:
            self._unpublished = False


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _event_of(alarm: Alarm) -> str:
    if alarm.cleared_ms is not None:
        return "cleared"
    if not alarm.is_present:
        return "ended; shown until it is acknowledged"
    if alarm.is_acknowledged:
        return f"acknowledged by {alarm.acknowledged_by}"
    return f"raised, {alarm.level.word}: {alarm.sentence}"


class Patience:
    """Filter for conditions that raise an alarm only after they have lasted for some time.

    Times are in seconds.
    """

    def __init__(self, seconds_by_id: Mapping[str, float]) -> None:
        self._seconds_by_id = seconds_by_id
        self._since: dict[Key, float] = {}

    def lasting(self, conditions: Sequence[Condition], *, now: float) -> list[Condition]:
        """Return the conditions that have lasted long enough to raise an alarm."""
        waiting = {
            Key(each.id, each.subject) for each in conditions if each.id in self._seconds_by_id
        }
        self._since = {key: self._since.get(key, now) for key in waiting}
        return [each for each in conditions if self._is_lasting(each, now)]

    def _is_lasting(self, condition: Condition, now: float) -> bool:
        seconds = self._seconds_by_id.get(condition.id)
        return seconds is None or now - self._since[Key(condition.id, condition.subject)] >= seconds
