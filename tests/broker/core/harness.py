"""The real core and the real store with a clock that the test sets, without sockets or threads.

Clients receive the decoded `Connection.outgoing` after a commit. `cut` simulates a power cut.
"""

from pathlib import Path

from gateway.broker.core.broker import Broker
from gateway.broker.core.gateway_time import ClockQuality
from gateway.broker.core.limits import Limits
from gateway.broker.core.records.kinds import CloseReason, StartKind
from gateway.broker.core.records.recorder import Recorder
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.session import Session
from gateway.broker.store.journal import FILE_BYTES
from gateway.broker.store.pages import PAGE_BYTES_MAX
from gateway.broker.store.recovery import Recovered
from gateway.broker.store.store import Store
from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import (
    Connect,
    Packet,
    Properties,
    Publish,
    Pubrel,
    Subscribe,
    Subscription,
    Will,
)

BOOT = b"\x01" * 8


class Client:
    """The client's end of a connection, with the decoded packets that the broker sent to it."""

    def __init__(self, harness: "Harness", connection: Connection, version: int) -> None:
        self.harness = harness
        self.connection = connection
        self.version = version
        self.decoder = Decoder(1 << 20, version, "client")
        self.received: list[Packet] = []

    @property
    def closed(self) -> bool:
        """True if the broker has closed the connection."""
        return not self.connection.is_open

    def send(self, *packets: Packet) -> None:
        """Send packets to the broker, which receives them in one read."""
        self.send_bytes(b"".join(encode(packet, self.version) for packet in packets))

    def send_bytes(self, data: bytes) -> None:
        """Send bytes to the broker, and run the core until all of them are handled."""
        broker = self.harness.broker
        broker.work.spent = 0
        broker.receive(self.connection, data, self.harness.now)
        while self.connection.has_more_work:
            broker.continue_connection(self.connection, self.harness.now)

    def take(self) -> list[Packet]:
        """Return the packets received since the last call."""
        packets = self.received
        self.received = []
        return packets


class Harness:
    """A broker on a data directory, with its clients, without an event loop."""

    def __init__(
        self,
        data_dir: Path,
        limits: Limits | None = None,
        journal_file_bytes: int = FILE_BYTES,
    ) -> None:
        self.data_dir = data_dir
        self.journal_file_bytes = journal_file_bytes
        self.limits = limits or Limits()
        self.now = 1_000.0
        self.time_ms = 1_700_000_000_000
        """The time that the wall clock shows, in milliseconds since 1970."""
        self.clock = ClockQuality.SYNCHRONISED
        """The quality of the wall clock, as the kernel reports it."""
        self.clients: dict[Connection, Client] = {}
        self.blobs: list[bytes] = []
        self.recovery = StartKind.NEW
        self.logged = ["sensors/#"]
        self.boot = BOOT
        self._open()

    def _open(self) -> None:
        self.store = Store(self.data_dir, self.journal_file_bytes)
        opened = self.store.open(self.logged, self.now)
        self.recovery = opened.recovery
        self.damage = opened.damage
        self.recovered: Recovered = opened.recovered
        state = self.recovered.state
        recorder = Recorder(
            state,
            opened.store,
            self.boot,
            self.recovered.next_batch,
            self.recovered.next_sequence,
        )
        self.broker = Broker(state, recorder, self.limits, False, [])
        self.recovered_from_files()
        self.broker.start(opened.recovery, "0", "", self.now, self.time_ms, self.clock)

    def recovered_from_files(self) -> None:
        """Do nothing; a subclass may inspect the recovered state here, before the broker starts."""

    # -- clients

    def open_connection(self, version: int = 4, *, anonymous: bool = True) -> Client:
        """Open a connection on which no packet has been sent."""
        connection = self.broker.accept("127.0.0.1:1", anonymous, self.now)
        client = Client(self, connection, version)
        self.clients[connection] = client
        return client

    def connect(
        self,
        client_id: str,
        *,
        clean: bool = False,
        will: Will | None = None,
        keep_alive_seconds: int = 0,
        version: int = 4,
        properties: Properties | None = None,
    ) -> Client:
        """Connect a client and commit."""
        client = self.open_connection(version)
        client.send(
            Connect(version, client_id, clean, keep_alive_seconds, will, None, None, properties)
        )
        self.commit()
        return client

    def subscriber(
        self, client_id: str, topic_filter: str, qos: int, *, clean: bool = False
    ) -> Client:
        """Connect a client, subscribe it, commit, and discard the broker's responses."""
        client = self.connect(client_id, clean=clean)
        client.send(Subscribe(1, [Subscription(topic_filter, qos)]))
        self.commit()
        client.take()
        return client

    def session(self, client_id: str) -> Session:
        """Return the session with this client identifier."""
        return self.broker.state.sessions[client_id]

    # -- the event loop's work

    def load_pages(self) -> None:
        """Load the pages of queued messages that the core has requested."""
        while requests := self.broker.effects.take_pages():
            for request in requests:
                contents, deliveries, request.count = self.store.load_page(
                    request.session,
                    request.first_position,
                    request.count,
                    request.contents,
                    PAGE_BYTES_MAX,
                )
                self.broker.page_loaded(request, contents, deliveries, self.now)
        for hand_over in self.broker.effects.take_hand_overs():
            contents, deliveries, _ = self.store.load_page(
                hand_over.session, hand_over.first_position, hand_over.count, hand_over.contents
            )
            self.broker.handed_over(hand_over, contents, deliveries, self.now)

    def seal(self, *, checkpoint_chunks: int = 0) -> None:
        """Commit one batch with some chunks of a checkpoint; then send all bytes that may leave."""
        self.load_pages()
        for connection in self.broker.effects.take_resumed():
            self.clients[connection].send_bytes(b"")
        first_sequence = self.broker.batch.next_sequence
        batch = self.broker.seal(self.now, self.time_ms, self.clock)
        done = None
        if batch.blob is not None or self.store.checkpointing:
            self.store.begin(first_sequence, batch.blob, self.broker.state.next_message_number)
            self._write_chunks(checkpoint_chunks)
            self.store.fsync_commit()
            self.store.note_end()
            if self.store.has_rows:
                self.store.commit_rows()
                done = self.store.rows_committed()
            if done is not None:
                covered = self.store.finish_checkpoint()
                self.store.checkpoint_finished(covered)
        self.blobs += [batch.blob] if batch.blob is not None else []
        self.broker.committed(batch)
        for session in done or ():
            self.broker.evict(session)
        self.flush()

    def _write_chunks(self, count: int) -> None:
        checkpoint = self.store._checkpoints._checkpoint
        for _ in range(count):
            if checkpoint is None or checkpoint.step():
                return

    def commit(self) -> None:
        """Commit until nothing waits for a commit and no page is requested."""
        self.seal()
        while self.broker.effects.pages or self.broker.waits_for_commit():
            self.seal()

    def begin_checkpoint(self) -> None:
        """Commit everything so far, then begin a checkpoint of all changes."""
        self.seal()
        if not self.store.checkpointing:
            self.store.begin_checkpoint(self.recovered, self.broker.batch.next_sequence, self.now)

    def checkpoint(self) -> None:
        """Begin a checkpoint, and write all of its chunks."""
        self.begin_checkpoint()
        while self.store.checkpointing:
            self.seal(checkpoint_chunks=1_000)

    def flush(self) -> None:
        """Deliver the broker's outgoing bytes to the clients, decoded."""
        for connection in self.broker.effects.take_writes():
            client = self.clients.get(connection)
            data = connection.take_outgoing()
            if client is not None:
                client.received.extend(client.decoder.feed(data))
                assert client.decoder.error is None, client.decoder.error

    def advance(self, seconds: float) -> None:
        """Advance both clocks, run the timers that are due, and commit."""
        self.now += seconds
        self.time_ms += int(seconds * 1000)
        self.broker.wake(self.now)
        self.commit()

    # -- the end of a connection or of the broker

    def lose(self, client: Client) -> None:
        """Break the network connection of a client."""
        self.broker.connection_lost(client.connection, CloseReason.NETWORK, self.now)

    def cut(self) -> None:
        """Cut the power and start again: only committed data remains."""
        self.store.close(clean=False)
        self.clients = {}
        self._open()

    def restart(self) -> None:
        """Stop cleanly and start again."""
        for client in list(self.clients.values()):
            self.broker.connection_lost(client.connection, CloseReason.SHUTDOWN, self.now)
        self.commit()
        self.broker.stop(self.now)
        self.commit()
        self.checkpoint()
        self.store.close(clean=True)
        self.clients = {}
        self._open()

    def rows(self, *tables: str) -> dict[str, int]:
        """Return the number of rows in each table; without arguments, in the tables of messages."""
        return {
            table: self.store._files.writer.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
            for table in tables or ("inbound", "outbound", "queue", "messages")
        }

    def close(self) -> None:
        """Close the files of the store, as a power cut would leave them."""
        self.store.close(clean=False)


def publishes(packets: list[Packet]) -> list[Publish]:
    """Return the PUBLISH packets among `packets`."""
    return [packet for packet in packets if isinstance(packet, Publish)]


def payloads(packets: list[Packet]) -> list[bytes]:
    """Return the payloads of the PUBLISH packets among `packets`."""
    return [packet.payload for packet in publishes(packets)]


def send_many(
    harness: Harness, client: Client, count: int, qos: int = 1, *, topic: str = "t"
) -> None:
    """Publish the messages `0`, `1`, ... to one topic, at QoS 2 with their PUBRELs, and commit."""
    for number in range(count):
        packet_id = number % 60_000 + 1
        client.send(Publish(topic, b"%d" % number, qos, False, False, packet_id))
        if qos == 2:
            client.send(Pubrel(packet_id))
    harness.commit()


def publish_many(harness: Harness, count: int, qos: int = 1, *, topic: str = "t") -> None:
    """Publish as `send_many` does, from a new client."""
    send_many(harness, harness.connect("publisher", clean=True), count, qos, topic=topic)
