"""The durable outbox: every reading is here before anything else, and leaves at PUBCOMP.

This is what ports, MQTT client and composition root use; `committer.py` decides what is durable
and what may be sent after that.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

from firmware_bridge.outbox.boards import Placement
from firmware_bridge.outbox.capacity import FullBy
from firmware_bridge.outbox.committer import Committer
from firmware_bridge.outbox.giving_way import Port
from firmware_bridge.outbox.settlement import (
    Connected,
    Disconnected,
    Pubcomp,
    Pubrec,
    Send,
    SessionLost,
)
from firmware_bridge.outbox.store import OutboxStore
from firmware_bridge.readings.kinds import Kind
from firmware_bridge.readings.numbering import BoardIdentity
from firmware_bridge.readings.publications import Publication
from gateway.process.files.queue_database import CommitThread

# Readings that wait for their commit; beyond it a port stops reading until the disk has caught up.
UNCOMMITTED_BYTES_MAX = 4 * 1024 * 1024


class OutboxStatus(TypedDict):
    """The outbox's part of the bridge's status (docs/formats/control-socket.md)."""

    waiting: int
    in_flight: int
    published: int
    republished: int
    bytes: int
    bytes_max: int
    full_by: FullBy | None
    disk_full: bool
    delivery_seconds: float | None


class Outbox:
    """One writer: `run` commits; all others submit and wait for the batch's future."""

    def __init__(
        self,
        store: OutboxStore,
        *,
        window: int,
        bytes_max: int,
        age_max_seconds: float | None = None,
        commit_delay_seconds: float = 0.0,
    ) -> None:
        self._store = store
        self._committer = Committer(
            store,
            window=window,
            bytes_max=bytes_max,
            age_max_seconds=age_max_seconds,
            commit_delay_seconds=commit_delay_seconds,
        )
        self._arrivals = self._committer.arrivals
        self._capacity = self._committer.capacity
        self._session = self._committer.session
        self._counters = self._committer.queue.counters
        self.start_number = self._committer.start_number
        """Number of this start of the bridge on this outbox."""

    # What ports do

    def submit(self, publications: Sequence[Publication]) -> asyncio.Future[None]:
        """Take readings of a sensor that keeps none, and commit without delay; the future is done
        when they would survive a power cut.

        It belongs to all of the batch: wait for it through `asyncio.shield`, or by callback.
        """
        self._committer.hurry()
        return self._take(publications)

    def submit_frame(
        self,
        identity: BoardIdentity,
        digest: bytes,
        source: str,
        publications_of: Callable[[int], Sequence[Publication]],
    ) -> tuple[asyncio.Future[None], Placement]:
        """Submit as `submit`, for a frame of a board that came over the port `source`.

        One that was accepted before is not stored again, only waited for. The commit waits for
        others, `commit_delay` long: see `commit_now`.

        Args:
            publications_of: makes the readings for the boot number under which they are published.

        Raises:
            TooManyStarts: and nothing is taken.
        """
        publications, placement = self._arrivals.accept(identity, digest, source, publications_of)
        if not placement.is_new:
            durable = self._arrivals.durable_without_commit()
            if durable is not None:
                return durable, placement
        return self._take(publications), placement

    def kinds_of(self, port: str, framing: str) -> Mapping[str, Kind]:
        """Return the stored kinds of a port's quantities. Call it before `run`."""
        return self._store.kinds_of(port, framing)

    def note_kinds(self, port: str, framing: str, kinds: Mapping[str, Kind]) -> None:
        """Store kinds of a port's quantities, in the transaction of the readings to come."""
        self._arrivals.note_kinds(port, framing, kinds)

    def commit_now(self) -> None:
        """Wait for nothing more: what has come is the next batch."""
        self._committer.hurry()

    def knows_room_for(self, device: int) -> bool:
        """Return False for one board too many: its frames are refused, not acknowledged."""
        return self._arrivals.knows_room_for(device)

    def give_way(
        self, port: str, dropped: Callable[[str, int], None], over: Callable[[], None]
    ) -> None:
        """Drop the oldest readings of a port while the outbox is full.

        Args:
            port: its name, as its publications have it in `gives_way_of`.
            dropped: called with the reason and how many were dropped.
            over: called when none have to be dropped any more.
        """
        committer = self._committer
        committer.giving_way.watch(port, Port(dropped, over), committer.queue.last_started)

    @property
    def full_by(self) -> FullBy | None:
        """Return why ports have to wait, or to drop what they read; None: there is room."""
        return self._capacity.full_by

    @property
    def behind(self) -> bool:
        """More waits for the disk than a reader should add to."""
        return self._arrivals.bytes_count > UNCOMMITTED_BYTES_MAX

    async def wait_for_room(self) -> None:
        """Wait until readings are taken again."""
        await self._capacity.wait_for_room()

    async def wait_for_commit(self) -> None:
        """Wait until what has been submitted so far is durable."""
        self._committer.hurry()
        self._committer.wake()
        await asyncio.shield(self._arrivals.durable)

    # What the MQTT client does

    @property
    def session(self) -> str | None:
        """The name of our session at the broker."""
        return self._session.name

    def receive_pubrec(self, packet_id: int) -> None:
        """Note a PUBREC; its PUBREL is sent when that is durable."""
        self._committer.signal(Pubrec(packet_id))

    def receive_pubcomp(self, packet_id: int) -> None:
        """Note a PUBCOMP; its reading goes with the next commit."""
        self._committer.signal(Pubcomp(packet_id))

    def receive_connected(self, send: Send, session: str, *, session_present: bool) -> None:
        """Send packets with `send` from now on; what was in flight is sent again.

        A session that has just begun is ours from the commit on that its first PUBLISH waits for.
        """
        self._session.begin(session)
        self._committer.hurry()
        self._committer.signal(Connected(send, session_present))

    def receive_disconnected(self, send: Send) -> None:
        """Send no more packets with `send`."""
        self._committer.signal(Disconnected(send))

    async def lose_session(self) -> None:
        """Give up the session and every exchange in it: durable when this returns."""
        self._session.give_up()
        self._committer.hurry()
        self._committer.signal(SessionLost())
        # Not for readings, which may wait for room on the disk.
        await self._committer.settle()

    def choose_session(self, client_id: str, machine: str) -> None:
        """Keep the session of the run before, or leave it where that costs nothing."""
        self._session.choose(client_id, machine, in_flight=len(self._committer.queue.exchanges))

    # What the composition root does

    async def run(self) -> None:
        """Commit batches until `stop`.

        Raises:
            QueueError: the disk refuses; nothing untrue has been sent, so that a restart is safe.
        """
        await self._committer.run()

    def stop(self) -> None:
        """Make `run` commit the remaining readings and return."""
        self._committer.stop()

    async def wait_until_empty(self) -> None:
        """Prepare for the end: from now on no commit waits for more."""
        await self._committer.wait_until_empty()

    async def close(self) -> None:
        """Close the store, behind a COMMIT that may still run."""
        await self._committer.close()

    @property
    def commits(self) -> CommitThread:
        """Readings that wait for the disk."""
        return self._committer.commits

    @property
    def republished(self) -> int:
        """Readings that went out again because the broker had lost the session."""
        return self._counters["republished"]

    @property
    def unexpected_pubcomps(self) -> int:
        """PUBCOMP that completed no exchange."""
        return self._counters["unexpected_answers"]

    def status(self) -> OutboxStatus:
        """Return the outbox's part of the bridge's status (docs/formats/control-socket.md)."""
        committer = self._committer
        return {
            "waiting": committer.queue.waiting + self._arrivals.count,
            "in_flight": len(committer.queue.exchanges),
            "published": self._counters["forwarded"],
            "republished": self.republished,
            "bytes": committer.bytes_held,
            "bytes_max": committer.bytes_max,
            "full_by": self._capacity.full_by,
            "disk_full": self._capacity.disk_full,
            "delivery_seconds": committer.delivery_times.mean_seconds(),
        }

    def _take(self, publications: Sequence[Publication]) -> asyncio.Future[None]:
        durable = self._arrivals.add(publications)
        self._committer.note_arrival()
        return durable
