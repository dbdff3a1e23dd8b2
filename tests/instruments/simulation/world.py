"""One run of a plan: the world, what happens in it, and whether everything held.

The steps of the plan happen at their times. Then the world calms down: no more faults, everybody
comes back and finishes, and whatever is acknowledged has to be where it belongs.
"""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gateway.broker.core.broker import Broker
from gateway.broker.core.records.blob import DamagedBlob
from gateway.broker.core.records.events import decode
from gateway.broker.core.when_full import WhenFull
from gateway.broker.store.journal_reader import JournalReader
from gateway.configuration.sections import Limits as BatchLimits
from tests.instruments.simulation import invariants, steps
from tests.instruments.simulation.client import Client
from tests.instruments.simulation.clocks import SLICES
from tests.instruments.simulation.disk import Disk
from tests.instruments.simulation.durations import Durations
from tests.instruments.simulation.ledger import Ledger
from tests.instruments.simulation.machine import LOGGED, Life, Machine
from tests.instruments.simulation.machine_clock import START_SECONDS
from tests.instruments.simulation.network import CALM, Link
from tests.instruments.simulation.plan import ClientPlan, CutPower, Plan
from tests.instruments.simulation.recovered_state import require_same_state
from tests.instruments.simulation.session_log import SessionLog
from tests.instruments.simulation.story import reported
from tests.instruments.simulation.violation import Violation, require
from tests.instruments.simulation.virtual_loop import Timeline
from tests.instruments.simulation.witness import Witness

EXPORT_SECONDS = 1.3
EXPORT_BYTES = 3_000
CALM_SECONDS_MAX = 600.0
"""Longest virtual time in which all clients finish, including keep-alives and expiries."""
CHECK_SECONDS = 0.5
MOMENTS_MAX = 200_000
"""A run with more moments than this is an endless loop."""


class World:
    """The world around the broker: its clients, network, disk and machine."""

    def __init__(self, plan: Plan, folder: Path, broker_class: type[Broker], logs: bool) -> None:
        manners = plan.manners
        self.plan = plan
        self.seed = plan.seed
        self.timeline = Timeline()
        self.ledger = Ledger()
        self.counts: Counter[str] = Counter()
        self.story: list[str] | None = [] if logs else None
        self.max_inflight = manners.max_inflight
        self.queues_refuse = manners.when_full is WhenFull.REFUSE
        self.queues_overflow = (
            manners.max_mqueue_len < 1_000 and manners.when_full is not WhenFull.REFUSE
        )
        self.queues_slow = manners.when_full is WhenFull.SLOW and manners.everyone_reads
        self.weather = manners.weather
        self.calm = False
        self.boundaries = 0
        """Moments until all clients had finished. The power may be cut before each."""
        self.witness = Witness(self._client_of, self.count)
        self.log = SessionLog()
        self.export_stopped_until = 0.0
        SLICES.begin(f"{plan.seed}/slices")
        self.durations = Durations(self)
        self.disk = Disk(self.timeline, folder, plan.seed, manners.disk, self._committed)
        self.machine = Machine(
            self.timeline,
            self.disk,
            manners.limits(),
            BatchLimits(
                commit_delay=manners.commit_delay_seconds,
                checkpoint_interval=manners.checkpoint_interval_seconds,
            ),
            broker_class=broker_class,
            booted=self._booted,
            tell=self.tell,
        )
        self.clients = {client.name: Client(client, self) for client in plan.clients}
        self.chance = random.Random(f"{plan.seed}/world")  # noqa: S311 - the same every time
        self._reader: tuple[Path, JournalReader] | None = None
        self._links: dict[int, Client] = {}
        self._cuts = sorted(plan.power_cuts, reverse=True)
        self._cut = CutPower(1.0)

    # -- methods for clients

    @property
    def moment(self) -> int:
        """The number of the current moment."""
        return self.timeline.moment

    @property
    def now(self) -> float:
        """The virtual time in seconds."""
        return self.timeline.now

    @property
    def last_boot(self) -> float:
        """The time of the broker's last start."""
        return self.machine.boot_times[-1]

    def at(self, when: float, callback: Callable[..., object], *arguments: Any) -> None:
        """Call back at this time."""
        self.timeline.at(when, callback, *arguments)

    def tell(self, who: str, what: str, thing: object = "") -> None:
        """Add a line to the story, if the story is kept."""
        if self.story is not None:
            text = reported(thing)
            self.story.append(
                f"{self.moment:6} {self.now - START_SECONDS:9.3f}  {who:9} {what}{text}"
            )

    def count(self, what: str) -> None:
        """Count an event that tests want to occur."""
        self.counts[what] += 1

    def connect(self, client: Client) -> Link | None:
        """Open a connection. Return None if no process is listening."""
        number = len(self._links) + 1
        attempts = len(client.connecting.attempts) + 1
        link = Link(
            self.timeline,
            f"{client.name}#{attempts}",
            number=number,
            seed=self.seed,
            weather=CALM if self.calm else self.weather,
            peer=client.connecting,
        )
        link.transport.spy = self.witness.hear
        self._links[number] = client
        if not self.machine.accept(link):
            return None
        return link

    def _client_of(self, link: Link) -> Client:
        return self._links[link.number]

    def add_client(self, plan: ClientPlan) -> Client:
        """Add a client and connect it."""
        client = self.clients[plan.name] = Client(plan, self)
        client.connecting.open()
        return client

    def _committed(self, blob: bytes) -> None:
        self.witness.committed(blob)
        self.durations.committed(blob)

    # -- runs of the broker

    def _booted(self, life: Life) -> None:
        if self.witness.blobs:
            require_same_state(
                life.recovered.state,
                life.store,
                life.recovered.next_sequence,
                self.witness.blobs,
                LOGGED,
            )

    def _export(self) -> None:
        """Read the journal as the uploader does, and report the exported sequence number."""
        if self.timeline.now >= self.export_stopped_until:
            self.export_now()
        self.timeline.after(EXPORT_SECONDS, self._export)

    def export_now(self) -> None:
        """Read a page of the journal."""
        life = self.machine.life
        if life is None:
            return
        if self._reader is None or self._reader[0] != self.disk.data_dir:
            self._reader = (self.disk.data_dir, JournalReader(self.disk.data_dir))
        self.disk.fsync_by_reader()
        for blob in self._reader[1].blobs_after(self.log.last_sequence, EXPORT_BYTES):
            try:
                self.log.take(decode(blob))
            except DamagedBlob as error:
                raise Violation("the session log has no gap", str(error)) from error
        life.event_loop.committer.journal_room.exported(self.log.last_sequence)

    def end(self) -> None:
        """Close the files."""
        self.machine.end_of_simulation()

    # -- the run of the plan

    def run(self) -> None:
        """Run the plan.

        Raises:
            Violation: a rule does not hold.
        """
        self.machine.boot()
        self.timeline.after(EXPORT_SECONDS, self._export)
        for client in self.clients.values():
            client.connecting.open()
        last = 0.0
        for when, step in self.plan.steps:
            self.timeline.after(when, steps.take, self, step)
            last = max(last, when)
        self._serve_until(self.timeline.now + last + 0.001)
        self._calm_down()
        self.boundaries = self.moment
        invariants.check(self)

    def _serve(self) -> None:
        cut = False
        while self._cuts and self._cuts[-1] <= self.timeline.moment:
            self._cuts.pop()
            cut = True
        if cut:
            steps.cut_power(self, self._cut)
        require(
            self.timeline.moment < MOMENTS_MAX, "everything comes to an end", "it goes on and on"
        )
        assert self.timeline.step(), "the exporter is always due"

    def _serve_until(self, when: float) -> None:
        reached: list[bool] = []
        self.timeline.at(when, reached.append, True)
        while not reached:
            self._serve()

    def serve_for(self, seconds: float) -> None:
        """Advance the time."""
        self._serve_until(self.timeline.now + seconds)

    def serve_until(self, condition: Callable[[], bool], what: Callable[[], str]) -> None:
        """Advance the time until a condition holds.

        Raises:
            Violation: the condition never holds.
        """
        deadline = self.timeline.now + CALM_SECONDS_MAX
        while not condition():
            require(
                self.timeline.now < deadline,
                "everything comes to an end",
                f"after {CALM_SECONDS_MAX} s: {what()}",
            )
            self.serve_for(CHECK_SECONDS)

    def _calm_down(self) -> None:
        """End all faults, and wait until every client has returned and finished."""
        self.tell("world", "calms down")
        self.calm = True
        self.disk.failing.clear()
        self.disk.full_until = self.disk.stalled_until = self.export_stopped_until = 0.0
        self.disk.update_room()
        for client in self.clients.values():
            client.connecting.away_until = 0.0
            if client.connecting.attempt is None:
                client.connecting.open()
        self.serve_until(self.everything_is_over, self.what_is_left)

    def everything_is_over(self) -> bool:
        """Return True if every client is connected and has finished."""
        return (
            not self._cuts
            and all(client.is_finished() for client in self.clients.values())
            and self.everything_is_delivered()
        )

    def everything_is_delivered(self) -> bool:
        """Return True if the broker has nothing left to deliver."""
        life = self.machine.life
        return life is not None and not any(
            session.inbound or session.outbound or session.queued_count or _will_waits(session)
            for session in life.broker.state.sessions.values()
        )

    def what_is_left(self) -> str:
        """Return a description of the clients that have not finished."""
        left = [
            f"{client.name}: connected {client.connecting.connected}, {len(client.backlog)} to "
            f"send, outgoing {client.outgoing}, not released {client.incoming.unreleased}, "
            f"not answered {client.asked}"
            for client in self.clients.values()
            if not client.is_finished()
        ]
        life = self.machine.life
        for session in life.broker.state.sessions.values() if life is not None else ():
            if session.inbound or session.outbound or session.queued_count:
                left.append(
                    f"the broker's session of {session.client_id}: received "
                    f"{sorted(session.inbound)}, in flight {sorted(session.outbound)}, "
                    f"{session.queued_count} queued"
                )
        return "; ".join(left) or f"power cuts left: {self._cuts}"


def _will_waits(session: Any) -> bool:
    return session.will is not None and session.connection is None
