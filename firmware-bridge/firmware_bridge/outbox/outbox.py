"""Interface of the outbox for its users: ports, the MQTT client, and the bridge's main module.

Each reading is stored in the outbox before it is published or acknowledged, and is removed when
PUBCOMP is received. `committer.py` stores the readings, and then sends the packets.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

from firmware_bridge.outbox.boards import Placement
from firmware_bridge.outbox.capacity import FullBy
from firmware_bridge.outbox.committer import Committer
from firmware_bridge.outbox.reading_dropper import DropCallbacks
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

# Bytes of uncommitted readings. Above this, ports are not read until the disk catches up.
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
    """The durable queue of readings for the broker.

    When a port submits readings, it receives a future. The future is done when `run` has committed
    the readings to the database, which makes them durable.
    """

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
        """The number of times that the bridge was started with this outbox."""

    # Methods for ports

    def submit(self, publications: Sequence[Publication]) -> asyncio.Future[None]:
        """Submit readings of a sensor that cannot repeat them, and commit without delay.

        Return a future that is done when the readings survive a power cut. All readings in a batch
        share one future. Use `asyncio.shield` or a callback, so that one caller cannot cancel the
        future for the other callers.
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
        """Submit the readings of a board's frame that was received on the port `source`.

        A repeated frame is not stored again. The commit is delayed by up to `commit_delay`, unless
        `commit_now` is called.

        Args:
            identity: board, boot number and frame number.
            digest: identifies the contents of the frame.
            source: name of the port.
            publications_of: creates the readings for a given boot number.

        Returns:
            A future that is done when the frame is durable, and the frame's placement, which
                classifies the frame as new or repeated.

        Raises:
            TooManyStarts: if the board has started too often. Nothing is stored.
        """
        publications, placement = self._arrivals.accept(identity, digest, source, publications_of)
        if not placement.is_new:
            durable = self._arrivals.durable_without_commit()
            if durable is not None:
                return durable, placement
        return self._take(publications), placement

    def kinds_of(self, port: str, framing: str) -> Mapping[str, Kind]:
        """Return the stored data types of a port's quantities, keyed by quantity name.

        A type is number, text or boolean. `framing` is the name of the port's protocol.
        """
        return self._store.kinds_of(port, framing)

    def note_kinds(self, port: str, framing: str, kinds: Mapping[str, Kind]) -> None:
        """Store the data types of a port's new quantities together with the next readings.

        `kinds` maps the name of each quantity to its type: number, text or boolean. `framing` is
        the name of the port's protocol.
        """
        self._arrivals.note_kinds(port, framing, kinds)

    def commit_now(self) -> None:
        """Commit all submitted readings without further delay."""
        self._committer.hurry()

    def has_room_for(self, device: int) -> bool:
        """Return True if the outbox accepts frames of the board `device`.

        If the outbox already has records of the maximum number of boards, frames of other boards
        are refused.
        """
        return self._arrivals.has_room_for(device)

    def allow_drops(
        self, port: str, dropped: Callable[[str, int], None], ended: Callable[[], None]
    ) -> None:
        """Allow the outbox to drop the oldest readings of a port while the outbox is full.

        Args:
            port: name of the port, which is also the field `gives_way_of` of its publications.
            dropped: called with the reason and the number of dropped readings.
            ended: called when the outbox has room again.
        """
        committer = self._committer
        callbacks = DropCallbacks(dropped, ended)
        committer.reading_dropper.watch(port, callbacks, committer.queue.last_started)

    @property
    def full_by(self) -> FullBy | None:
        """The reason why the outbox is full, or None if it accepts readings."""
        return self._capacity.full_by

    @property
    def is_overloaded(self) -> bool:
        """True if too many bytes are waiting for a commit. Ports should then not be read."""
        return self._arrivals.bytes_count > UNCOMMITTED_BYTES_MAX

    async def wait_for_room(self) -> None:
        """Wait until the outbox accepts readings."""
        await self._capacity.wait_for_room()

    async def wait_for_commit(self) -> None:
        """Wait until all readings that were submitted so far are durable."""
        self._committer.hurry()
        self._committer.wake()
        await asyncio.shield(self._arrivals.durable)

    # Methods for the MQTT client

    @property
    def session(self) -> str | None:
        """The name of the bridge's session at the broker, or None if there is no session."""
        return self._session.name

    def receive_pubrec(self, packet_id: int) -> None:
        """Process a PUBREC. Once it is recorded on disk, the PUBREL is sent."""
        self._committer.add_event(Pubrec(packet_id))

    def receive_pubcomp(self, packet_id: int) -> None:
        """Process a PUBCOMP. The next commit removes the reading from the outbox."""
        self._committer.add_event(Pubcomp(packet_id))

    def receive_connected(self, send: Send, session: str, *, session_present: bool) -> None:
        """Use `send` to send packets over a new connection. Unacknowledged packets are sent first.

        The argument `session_present` is False if the broker has just created the session. The name
        of such a session is stored before the first PUBLISH is sent, and readings that were in
        flight are published again.
        """
        self._session.begin(session)
        self._committer.hurry()
        self._committer.add_event(Connected(send, session_present))

    def receive_disconnected(self, send: Send) -> None:
        """Stop sending packets with `send`, because its connection has ended."""
        self._committer.add_event(Disconnected(send))

    async def lose_session(self) -> None:
        """Abandon the session and all its exchanges, and wait until the change is durable.

        The readings of abandoned exchanges will be published again in a new session.
        """
        self._session.give_up()
        self._committer.hurry()
        self._committer.add_event(SessionLost())
        # This does not wait for new readings, which may wait for room on the disk.
        await self._committer.wait_until_durable()

    def choose_session(self, client_id: str, machine: str) -> None:
        """Continue the session of the previous run, or begin a new session.

        A new session is needed if the client id or the machine has changed. If the old session
        still has open exchanges, it is continued first, until they are complete.
        """
        self._session.choose(client_id, machine, in_flight=len(self._committer.queue.exchanges))

    # Methods for the composition root

    async def run(self) -> None:
        """Commit batches until `stop` is called.

        Raises:
            QueueError: if writing to the disk failed. Nothing that depends on the failed commit was
                sent, so a restart is safe.
        """
        await self._committer.run()

    def stop(self) -> None:
        """Make `run` commit the remaining readings and return."""
        self._committer.stop()

    async def wait_until_empty(self) -> None:
        """Stop delaying commits, and wait until all readings are published."""
        await self._committer.wait_until_empty()

    async def close(self) -> None:
        """Close the database. If a COMMIT is still running, wait for it first."""
        await self._committer.close()

    @property
    def commits(self) -> CommitThread:
        """The thread that commits transactions. It measures the duration of the current commit."""
        return self._committer.commits

    @property
    def republished(self) -> int:
        """The number of readings published again because the broker had lost the session."""
        return self._counters["republished"]

    @property
    def unexpected_pubcomps(self) -> int:
        """The number of PUBCOMP packets that did not belong to an open exchange."""
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
