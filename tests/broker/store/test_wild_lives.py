"""Random lives of clients: small queues, retained messages, wills, takeovers and late pages.

After a power cut at any moment the state is that of the last commit, and every running counter
equals a recount.
"""

import random
from pathlib import Path

import pytest

from gateway.broker.core import effects
from gateway.broker.core.limits import Limits
from gateway.broker.core.rules.deliver import deliver
from gateway.broker.core.sessions.message import DeliveryState
from gateway.broker.core.sessions.session import Session
from gateway.broker.wire.packets import (
    Connect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Subscribe,
    Subscription,
    Unsubscribe,
    Will,
)
from tests.broker.core.harness import Client, Harness
from tests.broker.core.mqtt5 import NEVER, properties
from tests.broker.core.picture import Picture, picture_of

CLIENTS = ("a", "b", "c", "d")
FILTERS = ("t/1", "t/+", "sensors/#", "#", "w", "$share/g/t/#", "$share/h/#")
TOPICS = ("t/1", "t/2", "sensors/x", "w")
STEPS = 400


class Watched(Harness):
    """A harness that stores a picture of the state at each commit."""

    def __init__(self, data_dir: Path, limits: Limits) -> None:
        self.durable: Picture = {}
        self.pages_wanted = True
        super().__init__(data_dir, limits)

    def load_pages(self) -> None:
        """Load pages, unless this life delays them at present."""
        if self.pages_wanted:
            super().load_pages()

    def seal(self, *, checkpoint_chunks: int = 0) -> None:
        """Commit a batch and store a picture of the state."""
        super().seal(checkpoint_chunks=checkpoint_chunks)
        self.durable = picture_of(self)

    def recovered_from_files(self) -> None:
        """Compare the recovered state with that of the last commit."""
        if self.durable:
            found = picture_of(self)
            found["sequence"] = self.recovered.next_sequence
            # No client knows a session number that has no record, so the numbers may differ.
            for picture in (found, self.durable):
                picture.pop("next session")
            assert found == self.durable


class Life:
    """The random steps of one life."""

    def __init__(self, data_dir: Path, chance: random.Random) -> None:
        limits = Limits()
        limits.max_inflight = chance.randint(1, 4)
        limits.max_mqueue_len = chance.randint(3, 30)
        limits.max_mqueue_bytes = chance.choice((1_500, 100_000))
        limits.mqueue_store_qos0 = chance.random() < 0.5
        limits.max_awaiting_rel = 8
        self.chance = chance
        self.harness = Watched(data_dir, limits)
        self.connected: dict[str, Client] = {}
        self.sent = 0

    def step(self) -> None:
        """Run one random step."""
        chance = self.chance
        client_id = chance.choice(CLIENTS)
        client = self.connected.get(client_id)
        if client is not None and client.closed:
            client = None
        roll = chance.random()
        if roll < 0.10:
            self.harness.seal(checkpoint_chunks=chance.randint(0, 3))
        elif roll < 0.11:
            self.let_time_pass(chance.choice((1, 10)))
        elif roll < 0.16:
            self.checkpoint()
        elif roll < 0.18:
            self.cut()
        elif roll < 0.22:
            self.harness.pages_wanted = not self.harness.pages_wanted
        elif client is None or roll < 0.26:
            self.connect(client_id)
        else:
            self.speak(client_id, client)
        self.check()

    def let_time_pass(self, seconds: int) -> None:
        """Advance the clocks and run the timers, and do not commit their changes."""
        harness = self.harness
        harness.now += seconds
        harness.time_ms += seconds * 1000
        harness.broker.wake(harness.now)

    def checkpoint(self) -> None:
        """Begin a checkpoint, and finish it in most cases."""
        harness = self.harness
        harness.begin_checkpoint()
        if self.chance.random() < 0.7:
            while harness.store.checkpointing:
                harness.seal(checkpoint_chunks=1_000)

    def connect(self, client_id: str) -> None:
        """Connect a client, perhaps by a takeover, perhaps while changes are uncommitted."""
        chance = self.chance
        will = None
        if chance.random() < 0.4:
            will = Will(
                chance.choice(TOPICS), self.payload(), chance.randint(0, 2), chance.random() < 0.3
            )
        version = chance.choice((4, 5))
        wanted = None
        if version == 5:
            wanted = properties(
                session_expiry_interval_seconds=chance.choice((0, 20, NEVER)),
                receive_maximum=chance.randint(1, 5),
                maximum_packet_size_bytes=chance.choice((100, 10_000)),
                topic_alias_maximum=chance.randint(0, 2),
            )
        client = self.harness.open_connection(version)
        client.send(Connect(version, client_id, chance.random() < 0.3, 0, will, None, None, wanted))
        self.connected[client_id] = client

    def payload(self) -> bytes:
        """Return a unique payload, which is sometimes large, or an empty one."""
        self.sent += 1
        if self.chance.random() < 0.05:
            return b""
        return b"%d " % self.sent + b"x" * self.chance.choice((0, 10, 600))

    def speak(self, client_id: str, client: Client) -> None:
        """Send a random packet from a connected client, or end its connection."""
        chance = self.chance
        session = self.harness.broker.state.sessions[client_id]
        roll = chance.random()
        if roll < 0.40:
            qos = chance.randint(0, 2)
            retain = chance.random() < 0.15
            packet_id = chance.randint(1, 6) if qos else 0
            topic = chance.choice(TOPICS)
            wanted = None
            if chance.random() < 0.3:
                expiry = chance.choice((0, 3, 1_000))
                wanted = properties(message_expiry_interval_seconds=expiry, content_type="x")
            client.send(Publish(topic, self.payload(), qos, retain, False, packet_id, wanted))
        elif roll < 0.55 and session.inbound:
            client.send(Pubrel(chance.choice(list(session.inbound))))
        elif roll < 0.80:
            self.acknowledge(client, session, chance.randint(1, 5))
        elif roll < 0.87:
            client.send(Subscribe(1, [Subscription(chance.choice(FILTERS), chance.randint(0, 2))]))
        elif roll < 0.89:
            client.send(Unsubscribe(1, [chance.choice(FILTERS)]))
        elif roll < 0.92:
            client.send_bytes(b"\xe0\x00")
        elif roll < 0.95:
            self.harness.lose(client)
        elif roll < 0.96:
            self.harness.broker.drop_session(session, self.harness.now)
        else:
            writable = chance.random() < 0.6
            self.harness.broker.set_writable(client.connection, writable, self.harness.now)

    @staticmethod
    def acknowledge(client: Client, session: Session, count: int) -> None:
        """Acknowledge the first few deliveries in flight."""
        for delivery in list(session.outbound.values())[:count]:
            if delivery.state is DeliveryState.SENT:
                answer = Puback if delivery.qos == 1 else Pubrec
                client.send(answer(delivery.packet_id))
            elif delivery.state is DeliveryState.RECEIVED:
                client.send(Pubcomp(delivery.packet_id))

    def cut(self) -> None:
        """Cut the power, and lose all uncommitted changes."""
        self.connected = {}
        self.harness.pages_wanted = True
        self.harness.cut()
        self.harness.commit()

    def check(self) -> None:
        """Compare the running counters with a recount."""
        assert "contents_lost" not in self.harness.broker.statistics.dropped
        for session in self.harness.broker.state.sessions.values():
            waiting = [*session.waiting, *session.recent]
            assert session.queued_count == len(waiting) + session.stored_count
            if not session.stored_count:
                sizes = [d.message.size_bytes() for d in waiting if d.message is not None]
                assert session.queued_bytes == sum(sizes)
            positions = [delivery.position for delivery in waiting]
            assert positions == sorted(set(positions))

    def finish(self) -> None:
        """Connect all clients and complete all exchanges."""
        harness = self.harness
        harness.pages_wanted = True
        for client_id in list(harness.broker.state.sessions):
            self.connected[client_id] = harness.connect(client_id)
        harness.commit()
        for _ in range(2_000):
            busy = [
                session
                for session in harness.broker.state.sessions.values()
                if session.inbound or session.outbound or session.queued_count
            ]
            if not busy:
                return
            for session in busy:
                client = self.connected[session.client_id]
                for packet_id in list(session.inbound):
                    client.send(Pubrel(packet_id))
                self.acknowledge(client, session, 100)
            harness.commit()
        raise AssertionError(f"not finished: {picture_of(harness)}")


def lived(folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch, steps: int = STEPS) -> Life:
    """Run a life of this many steps, cut the power, finish it, and return it.

    Queues are so short in memory that they are soon on disk.
    """
    monkeypatch.setattr(effects, "QUEUE_PAGE_MESSAGES", 3)
    monkeypatch.setattr(deliver, "WAITING_IN_MEMORY_MESSAGES", 2)
    life = Life(folder, random.Random(seed))  # noqa: S311 - the same every time
    for _ in range(steps):
        life.step()
    life.cut()
    life.finish()
    return life


@pytest.mark.parametrize("seed", range(40))
def test_a_wild_life_keeps_what_was_committed_and_leaves_nothing(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = lived(tmp_path, seed, monkeypatch)
    life.harness.checkpoint()
    rows = life.harness.rows()
    assert (rows["inbound"], rows["outbound"], rows["queue"]) == (0, 0, 0)
    assert rows["messages"] == len(life.harness.broker.state.retained)
    life.harness.close()
