"""The durable outbox: every reading is here before anything else, and leaves at PUBCOMP.

The durability argument is one method, `_commit_batch`: everything that came while the disk was
busy becomes one transaction, and what it makes true is said only after its fsync.

| said | after this is durable |
|---|---|
| acknowledgement to a board | its readings, and that its frame was accepted |
| PUBLISH | the reading with its packet identifier |
| PUBREL | that PUBREC came |
| nothing waits for | the removal at PUBCOMP: it goes with the next batch |
"""

import asyncio
import logging
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from firmware_bridge.boards import Boards
from firmware_bridge.exchanges import Exchange, Exchanges
from firmware_bridge.framings.frames import BoardIdentity
from firmware_bridge.outbox_recovery import OutboxError
from firmware_bridge.outbox_store import OutboxStore, bytes_of
from firmware_bridge.publications import Publication
from firmware_bridge.turn import Connected, Disconnected, Pubcomp, Pubrec, Send, Signal, Turn

logger = logging.getLogger(__name__)

# Readings that wait for their commit; beyond it a port stops reading until the disk has caught up.
UNCOMMITTED_BYTES_MAX = 4 * 1024 * 1024
# A removal alone is not worth an fsync at once: SD cards wear out by small writes.
REMOVAL_SECONDS = 1.0
# A full outbox takes readings again below this share, so that it does not flap.
_ROOM_SHARE = 0.9


class Outbox:
    """One writer: `run` commits; everybody else submits and waits for the batch's future."""

    def __init__(self, store: OutboxStore, *, window: int, bytes_max: int) -> None:
        self._store = store
        self._bytes_max = bytes_max
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="outbox-commit")
        self._boards = Boards(store.boards())
        self._exchanges = Exchanges(window)
        self._exchanges.resume(store.in_flight())
        in_flight = self._exchanges.in_order()
        self._last_started = in_flight[-1].number if in_flight else 0
        self._waiting = store.count - len(in_flight)
        self._bytes = store.bytes
        self._arrivals: list[Publication] = []
        self._arrived_bytes = 0
        self._committing_bytes = 0
        self._signals: list[Signal] = []
        self._removed: list[Exchange] = []
        self._removal_due = False
        self._removal_timer: asyncio.TimerHandle | None = None
        self._send: Send | None = None
        self._session = store.property("session")
        self._new_session: str | None = None
        self._changed = asyncio.Event()
        self._durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._room = asyncio.Event()
        self._room.set()
        self._empty = asyncio.Event()
        self._stopping = False
        self.published = 0
        self.republished = 0
        self.unexpected_pubcomps = 0
        self.start_number = self._count_start()
        self._update_room()

    # What ports do

    def submit(self, publications: Sequence[Publication]) -> asyncio.Future[None]:
        """Take readings; the future is done when they would survive a power cut.

        It belongs to everyone in the batch: wait for it through `asyncio.shield`, or by callback.
        """
        self._arrivals += publications
        self._arrived_bytes += sum(bytes_of(each.topic, each.payload) for each in publications)
        self._update_room()
        self._changed.set()
        return self._durable

    def submit_frame(
        self, identity: BoardIdentity, publications: Sequence[Publication]
    ) -> tuple[asyncio.Future[None], bool]:
        """As `submit`; a frame accepted before is not stored again (False), only waited for."""
        new = self._boards.accept(identity)
        return self.submit(publications if new else ()), new

    def knows_room_for(self, device: int) -> bool:
        return self._boards.knows_room_for(device)

    @property
    def full(self) -> bool:
        return not self._room.is_set()

    @property
    def behind(self) -> bool:
        """More waits for the disk than a reader should add to."""
        return self._arrived_bytes + self._committing_bytes > UNCOMMITTED_BYTES_MAX

    async def wait_for_room(self) -> None:
        await self._room.wait()

    async def wait_for_commit(self) -> None:
        """Until what has been submitted so far is durable."""
        self._changed.set()
        await asyncio.shield(self._durable)

    # What the MQTT client does

    def receive_pubrec(self, packet_id: int) -> None:
        self._signal(Pubrec(packet_id))

    def receive_pubcomp(self, packet_id: int) -> None:
        self._signal(Pubcomp(packet_id))

    def receive_connected(self, send: Send, *, session_present: bool) -> None:
        """From now on `send` takes packets; what was in flight is sent again or starts anew."""
        self._signal(Connected(send, session_present))

    def receive_disconnected(self, send: Send) -> None:
        self._signal(Disconnected(send))

    def owns_session(self, session: str) -> bool:
        """Whether this database began the broker's session of that name."""
        return self._session == session

    async def take_session(self, session: str) -> None:
        """The broker has discarded whatever it had under that name; returns when durable."""
        self._session = self._new_session = session
        await self.wait_for_commit()

    # What the composition root does

    async def run(self) -> None:
        """Commit batches until `stop`. Raises `OutboxError` when the disk refuses: nothing
        untrue has been said, so a restart is always safe."""
        try:
            stopping = False
            while not stopping:
                await self._changed.wait()
                stopping = self._stopping
                await self._commit_batch()
        except sqlite3.Error as error:
            raise OutboxError(
                f"cannot write the outbox {self._store.path}: {error}; "
                "free space on the disk or replace it, then start the bridge again"
            ) from error

    def stop(self) -> None:
        """`run` commits what is left and returns."""
        self._stopping = self._removal_due = True
        self._changed.set()

    async def wait_until_empty(self) -> None:
        await self._empty.wait()

    async def close(self) -> None:
        # Behind a COMMIT that may still run in the one worker thread.
        await asyncio.get_running_loop().run_in_executor(self._executor, self._store.close)
        self._executor.shutdown()
        if self._removal_timer is not None:
            self._removal_timer.cancel()

    def status(self) -> dict[str, int]:
        return {
            "waiting": self._waiting + len(self._arrivals),
            "in_flight": len(self._exchanges),
            "published": self.published,
            "republished": self.republished,
            "bytes": self._bytes_held,
        }

    # One batch

    async def _commit_batch(self) -> None:
        self._changed.clear()
        arrivals, self._arrivals = self._arrivals, []
        self._committing_bytes, self._arrived_bytes = self._arrived_bytes, 0
        durable = self._durable
        self._durable = asyncio.get_running_loop().create_future()
        turn = Turn(self._exchanges, self._send)
        for signal in self._signals:
            turn.settle(signal)
        self._signals = []
        self._apply(turn)
        boards, forgotten = self._boards.take_changes()
        self._waiting += len(arrivals)
        starts = min(self._exchanges.free, self._waiting) if self._send is not None else 0
        session, self._new_session = self._new_session, None
        due = session is not None or self._removal_due
        if arrivals or boards or turn.needs_commit or starts or due:
            store = self._store
            store.begin()
            if session is not None:
                store.set_property("session", session)
            store.remove(self._removed)
            store.return_to_queue(turn.returned)
            store.release(turn.released)
            store.insert(arrivals)
            store.save_boards([(*row, self.start_number) for row in boards])
            store.remove_boards(forgotten)
            started = self._start(starts)
            removed, self._removed, self._removal_due = self._removed, [], False
            await self._commit()
            self._bytes += self._committing_bytes - sum(_bytes_of(each) for each in removed)
        else:
            started = []
            self._remove_later()
        self._committing_bytes = 0
        turn.speak(started)
        durable.set_result(None)
        self._update_room()
        self._update_empty()

    def _apply(self, turn: Turn) -> None:
        self._send = turn.send
        self._removed += turn.completed
        self.published += len(turn.completed)
        self.unexpected_pubcomps += turn.unexpected_pubcomps
        if turn.returned:
            # The broker knows none of our exchanges; the readings are still ours to deliver.
            logger.warning(
                "the broker has lost our session: %d readings in flight are published again",
                len(turn.returned),
            )
            self._last_started = turn.returned[0].number - 1
            self._waiting += len(turn.returned)
            self.republished += len(turn.returned)

    def _start(self, count: int) -> list[Exchange]:
        if not count:
            return []
        rows = self._store.waiting_after(self._last_started, count)
        started = [self._exchanges.start(*row) for row in rows]
        self._store.start(started)
        self._last_started = started[-1].number
        self._waiting -= len(started)
        return started

    async def _commit(self) -> None:
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._executor, self._store.commit)
        try:
            await asyncio.shield(done)
        except asyncio.CancelledError:
            await done  # The connection belongs to the worker until then.
            raise

    # Bookkeeping

    def _signal(self, signal: Signal) -> None:
        self._signals.append(signal)
        self._changed.set()

    def _count_start(self) -> int:
        number = int(self._store.property("starts") or 0) + 1
        self._store.begin()
        self._store.set_property("starts", str(number))
        self._store.commit()
        return number

    def _remove_later(self) -> None:
        if self._removed and self._removal_timer is None:
            loop = asyncio.get_running_loop()
            self._removal_timer = loop.call_later(REMOVAL_SECONDS, self._remove_now)

    def _remove_now(self) -> None:
        self._removal_timer = None
        self._removal_due = bool(self._removed)
        self._changed.set()

    @property
    def _bytes_held(self) -> int:
        return self._bytes + self._committing_bytes + self._arrived_bytes

    def _update_room(self) -> None:
        if self._bytes_held >= self._bytes_max and self._room.is_set():
            self._room.clear()
            logger.error(
                "the outbox is full (%d bytes): boards wait, other ports lose readings; "
                "see why the broker does not take them, or raise [bridge] outbox_max",
                self._bytes_held,
            )
        elif self._bytes_held < self._bytes_max * _ROOM_SHARE and not self._room.is_set():
            self._room.set()
            logger.info("the outbox takes readings again (%d bytes)", self._bytes_held)

    def _update_empty(self) -> None:
        if self._waiting or self._arrivals or len(self._exchanges):
            self._empty.clear()
        else:
            self._empty.set()


def _bytes_of(exchange: Exchange) -> int:
    return bytes_of(exchange.topic, exchange.payload)
