"""The durable outbox: every reading is here before anything else, and leaves at PUBCOMP.

The durability argument is one method, `_commit_batch`: everything that came while the disk was
busy, or during `commit_delay`, becomes one transaction, and what it makes true is said only after
its fsync.

| said | after this is durable |
|---|---|
| acknowledgement to a board | its readings, and that its frame was accepted |
| PUBLISH | the reading with its packet identifier |
| PUBREL | that PUBREC came |
| nothing waits for | the removal at PUBCOMP: it goes with the next batch |
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from firmware_bridge.outbox.boards import BoardRows, Boards, Placement
from firmware_bridge.outbox.exchanges import Exchange, Exchanges
from firmware_bridge.outbox.recovery import cannot_write
from firmware_bridge.outbox.session_name import is_name_of
from firmware_bridge.outbox.settlement import (
    Connected,
    Disconnected,
    Pubcomp,
    Pubrec,
    Send,
    SessionLost,
    Signal,
    Turn,
)
from firmware_bridge.outbox.store import OutboxFull, OutboxStore, bytes_of
from firmware_bridge.protocols.frame import BoardIdentity
from firmware_bridge.readings.publications import Publication

logger = logging.getLogger(__name__)

# Readings that wait for their commit; beyond it a port stops reading until the disk has caught up.
UNCOMMITTED_BYTES_MAX = 4 * 1024 * 1024
# A removal alone is not worth an fsync at once: SD cards wear out by small writes.
REMOVAL_SECONDS = 1.0
# Between two attempts on a full disk.
NO_ROOM_SECONDS = 0.5
# A full outbox takes readings again below this share, so that it does not flap.
_ROOM_SHARE = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class Taking:
    """What ports have brought between two batches, and the word that it is durable."""

    publications: list[Publication]
    boards: BoardRows
    bytes_count: int
    durable: asyncio.Future[None]


class Outbox:
    """One writer: `run` commits; everybody else submits and waits for the batch's future."""

    def __init__(
        self, store: OutboxStore, *, window: int, bytes_max: int, commit_delay_seconds: float = 0.0
    ) -> None:
        self._store = store
        self._bytes_max = bytes_max
        self._commit_delay_seconds = commit_delay_seconds
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
        self._taking: list[Taking] = []
        """What is being committed, and while the disk is full what waits for that."""
        self._committing_bytes = 0
        self._disk_full = False
        self._signals: list[Signal] = []
        self._removed: list[Exchange] = []
        self._removal_due = False
        self._removal_timer: asyncio.TimerHandle | None = None
        self._send: Send | None = None
        self.session = store.property("session") or None
        self._new_session: str | None = None
        self._changed = asyncio.Event()
        self._urgent = asyncio.Event()
        """Set: the commit does not wait for more."""
        self._durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Done when what the broker has said so far is durable; readings may still wait.
        self._batch: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._room = asyncio.Event()
        self._room.set()
        self._empty = asyncio.Event()
        self._stopping = False
        self._commit_began: float | None = None
        self.published = 0
        self.republished = 0
        self.unexpected_pubcomps = 0
        self.start_number = self._count_start()
        store.make_reserve()
        self._update_room()

    # What ports do

    def submit(self, publications: Sequence[Publication]) -> asyncio.Future[None]:
        """Take readings of a sensor that keeps none, and commit at once; the future is done when
        they would survive a power cut.

        It belongs to everyone in the batch: wait for it through `asyncio.shield`, or by callback.
        """
        self._urgent.set()
        return self._take(publications)

    def _take(self, publications: Sequence[Publication]) -> asyncio.Future[None]:
        self._arrivals += publications
        self._arrived_bytes += sum(bytes_of(each.topic, each.payload) for each in publications)
        if self._send is not None and self._waiting + len(self._arrivals) > self._exchanges.free:
            self._urgent.set()  # more than can be published together
        self._update_room()
        self._changed.set()
        return self._durable

    def submit_frame(
        self,
        identity: BoardIdentity,
        digest: bytes,
        source: str,
        publications_of: Callable[[int], Sequence[Publication]],
    ) -> tuple[asyncio.Future[None], Placement]:
        """As `submit`, for a frame of a board that came over the port `source`.

        One that was accepted before is not stored again, only waited for. `publications_of` makes
        the readings for the boot number under which they are published. The commit waits for
        others, `commit_delay` long: see `commit_now`. Raises `TooManyStarts`.
        """
        placement = self._boards.place(identity, digest, source)
        publications = publications_of(placement.published_boot) if placement.is_new else ()
        # Nothing behind this line can fail: accepted and stored are one step.
        self._boards.accept(placement, identity, digest, source)
        if not placement.is_new and not self._arrivals:
            if self._taking:
                # What it repeats is being committed, or waits for room on the disk.
                return self._taking[-1].durable, placement
            # It is durable, and the board has only not heard of it.
            durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            durable.set_result(None)
            return durable, placement
        return self._take(publications), placement

    def commit_now(self) -> None:
        """Wait for nothing more: what has come is the next batch."""
        self._urgent.set()

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
        self._urgent.set()
        self._changed.set()
        await asyncio.shield(self._durable)

    # What the MQTT client does

    def receive_pubrec(self, packet_id: int) -> None:
        self._signal(Pubrec(packet_id))

    def receive_pubcomp(self, packet_id: int) -> None:
        self._signal(Pubcomp(packet_id))

    def receive_connected(self, send: Send, session: str, *, session_present: bool) -> None:
        """From now on `send` takes packets; what was in flight is sent again.

        A session that has just begun is ours from the commit on that its first PUBLISH waits for.
        """
        if session != self.session:
            self.session = self._new_session = session
        self._urgent.set()
        self._signal(Connected(send, session, session_present))

    def receive_disconnected(self, send: Send) -> None:
        self._signal(Disconnected(send))

    async def lose_session(self) -> None:
        """Give up the session and every exchange in it: durable when this returns."""
        self.session, self._new_session = None, ""
        self._urgent.set()
        self._signal(SessionLost())
        # Not for readings, which may wait for room on the disk.
        await asyncio.shield(self._batch)

    def choose_session(self, client_id: str, machine: str) -> None:
        """Keep the session of the run before, or leave it where that costs nothing.

        With nothing in flight there is nothing to resume, so that an operator may name it anew, and
        a copy of this outbox on another machine gets a session of its own.
        """
        moved = self._store.property("machine") not in (machine, None)
        kept = self.session is not None and is_name_of(self.session, client_id)
        if len(self._exchanges) and (moved or not kept):
            logger.warning(
                "the session %s goes on until its %d readings in flight are through: %s",
                self.session,
                len(self._exchanges),
                "the outbox was made on another machine; no other may use a copy of it"
                if moved
                else f"[bridge] client_id is {client_id!r} now",
            )
            return
        if kept and not moved and self._store.property("machine") is not None:
            return
        self._store.begin()
        if not kept or moved:
            self.session = None
            self._store.set_property("session", "")
        self._store.set_property("machine", machine)
        self._store.commit()

    # What the composition root does

    async def run(self) -> None:
        """Commit batches until `stop`. Raises `OutboxError` when the disk refuses: nothing
        untrue has been said, so a restart is always safe."""
        try:
            stopping = False
            while not stopping:
                await self._changed.wait()
                await self._gather()
                stopping = self._stopping
                await self._commit_batch()
        except sqlite3.Error as error:
            raise cannot_write(self._store.path, error) from error

    def stop(self) -> None:
        """`run` commits what is left and returns."""
        self._stopping = self._removal_due = True
        self._urgent.set()
        self._changed.set()

    async def wait_until_empty(self) -> None:
        """For the end: from now on no commit waits for more."""
        self._commit_delay_seconds = 0.0
        self._urgent.set()
        await self._empty.wait()

    async def close(self) -> None:
        # Behind a COMMIT that may still run in the one worker thread.
        await asyncio.get_running_loop().run_in_executor(self._executor, self._store.close)
        self._executor.shutdown()
        if self._removal_timer is not None:
            self._removal_timer.cancel()

    def status(self) -> dict[str, int | bool]:
        return {
            "waiting": self._waiting + self._uncommitted,
            "in_flight": len(self._exchanges),
            "published": self.published,
            "republished": self.republished,
            "bytes": self._bytes_held,
            "disk_full": self._disk_full,
        }

    @property
    def commit_seconds(self) -> float:
        """How long the commit that is under way has taken; 0 where there is none."""
        if self._commit_began is None:
            return 0.0
        return asyncio.get_running_loop().time() - self._commit_began

    @property
    def _uncommitted(self) -> int:
        """Readings that are not durable yet."""
        return len(self._arrivals) + sum(len(each.publications) for each in self._taking)

    # One batch

    async def _gather(self) -> None:
        """Wait for more to commit, as long as nothing is urgent."""
        if self._commit_delay_seconds and not self._disk_full:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._commit_delay_seconds):
                    await self._urgent.wait()

    async def _commit_batch(self) -> None:
        self._changed.clear()
        self._urgent.clear()
        batch, self._batch = self._batch, asyncio.get_running_loop().create_future()
        taking = self._take_arrivals()
        turn = Turn(self._exchanges, self._send)
        for signal in self._signals:
            turn.settle(signal)
        self._signals = []
        self._apply(turn)
        session, self._new_session = self._new_session, None
        started = await self._write(turn, session)
        if started is None:
            return  # the end came while the disk was full: nothing may be said
        turn.speak(started)
        batch.set_result(None)
        if taking not in self._taking and not taking.durable.done():
            taking.durable.set_result(None)
        self._update_room()
        self._update_empty()

    def _take_arrivals(self) -> Taking:
        """What came since the last batch; it waits in line while the disk has no room for it."""
        taking = Taking(
            self._arrivals, self._boards.take_changes(), self._arrived_bytes, self._durable
        )
        self._arrivals = []
        self._committing_bytes, self._arrived_bytes = self._committing_bytes + taking.bytes_count, 0
        self._durable = asyncio.get_running_loop().create_future()
        if taking.publications or taking.boards:
            self._taking.append(taking)
        return taking

    async def _write(self, turn: Turn, session: str | None) -> list[Exchange] | None:
        """Commit what the broker has said and, where there is room, what ports have brought.

        Returns what may be sent for the first time. None: there is no room even for the broker's
        word, and the bridge is about to stop.
        """
        if self._taking or self._disk_full:
            self._note_room(self._store.has_room())
        while True:
            taking = [] if self._disk_full else self._taking.copy()
            due = session is not None or self._removal_due
            starts = self._starts_wanted(taking)
            if not (taking or turn.needs_commit or starts or due):
                self._remove_later()
                return []
            self._store.begin()
            self._write_settled(turn, session)
            for each in taking:
                self._store.insert(each.publications)
                self._store.save_boards(each.boards)
            last_started = self._last_started
            started = self._start(starts)
            if await self._commit():
                self._committed(taking)
                return started
            self._exchanges.take_back(started)
            self._waiting += len(started)
            self._last_started = last_started
            self._note_room(False)
            if not taking:
                if self._stopping:
                    return None
                await asyncio.sleep(NO_ROOM_SECONDS)

    def _starts_wanted(self, taking: list[Taking]) -> int:
        if self._send is None:
            return 0
        waiting = self._waiting + sum(len(each.publications) for each in taking)
        return min(self._exchanges.free, waiting)

    def _write_settled(self, turn: Turn, session: str | None) -> None:
        if session is not None:
            self._store.set_property("session", session)
        self._store.remove(self._removed)
        self._store.return_to_queue(turn.returned)
        self._store.release(turn.released)

    def _committed(self, taking: list[Taking]) -> None:
        for each in taking:
            self._waiting += len(each.publications)
            self._bytes += each.bytes_count
            self._committing_bytes -= each.bytes_count
            each.durable.set_result(None)
        del self._taking[: len(taking)]
        self._bytes -= sum(_bytes_of(each) for each in self._removed)
        self._removed, self._removal_due = [], False

    def _note_room(self, has_room: bool) -> None:
        """While the disk is full what ports bring waits; what is stored goes out all the same."""
        if not has_room:
            loop = asyncio.get_running_loop()
            loop.call_later(NO_ROOM_SECONDS, self._changed.set)
        if has_room != self._disk_full:
            return
        self._disk_full = not has_room
        if self._disk_full:
            self._room.clear()
            logger.error(
                "the disk is full: boards wait, other ports lose readings; what is stored is "
                "published on. Free space, or use a larger disk"
            )
        else:
            self._store.make_reserve()
            logger.info("the disk has room again")

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
        if not rows:
            return []
        started = [self._exchanges.start(*row) for row in rows]
        self._store.start(started)
        self._last_started = started[-1].number
        self._waiting -= len(started)
        return started

    async def _commit(self) -> bool:
        """Whether there was room; without it nothing of the transaction is there."""
        loop = asyncio.get_running_loop()
        self._commit_began = loop.time()
        done = loop.run_in_executor(self._executor, self._store.commit)
        try:
            await asyncio.shield(done)
        except OutboxFull:
            return False
        except asyncio.CancelledError:
            await done  # The connection belongs to the worker until then.
            raise
        finally:
            self._commit_began = None
        return True

    # Bookkeeping

    def _signal(self, signal: Signal) -> None:
        self._signals.append(signal)
        if self._waiting:
            self._urgent.set()  # for its place in the window
        self._changed.set()

    def _count_start(self) -> int:
        number = int(self._store.property("starts") or 0) + 1
        self._store.begin()
        self._store.set_property("starts", str(number))
        try:
            self._store.commit()
        except OutboxFull:
            self._store.close()
            raise
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
        elif self._has_room_below_limit() and not self._room.is_set():
            self._room.set()
            logger.info("the outbox takes readings again (%d bytes)", self._bytes_held)

    def _has_room_below_limit(self) -> bool:
        return self._bytes_held < self._bytes_max * _ROOM_SHARE and not self._disk_full

    def _update_empty(self) -> None:
        if self._waiting or self._uncommitted or len(self._exchanges):
            self._empty.clear()
        else:
            self._empty.set()


def _bytes_of(exchange: Exchange) -> int:
    return bytes_of(exchange.topic, exchange.payload)
