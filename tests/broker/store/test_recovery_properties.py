"""Recovery rebuilds the state before the cut, whenever the power fails during a checkpoint."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.broker.core.limits import Limits
from gateway.broker.core.records.blob import Blob
from gateway.broker.core.records.replay import Replay
from gateway.broker.core.sessions.message import DeliveryState
from gateway.broker.core.state import State
from gateway.broker.wire.packets import (
    Disconnect,
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
from tests.broker.core.mqtt5 import NEVER, connect, properties
from tests.broker.core.picture import picture_of

CLIENTS = ("a", "b", "c")
FILTERS = ("t/1", "t/+", "sensors/#", "$share/g/t/+", "$share/g/#")
TOPICS = ("t/1", "t/2", "sensors/x")

client = st.sampled_from(CLIENTS)
steps = st.one_of(
    st.tuples(st.just("connect"), client, st.booleans(), st.booleans()),
    st.tuples(
        st.just("connect 5"),
        client,
        st.booleans(),
        st.sampled_from((0, 10, 40, NEVER)),
        st.sampled_from((None, 0, 15)),
        st.integers(1, 3),
    ),
    st.tuples(st.just("time"), st.sampled_from((1, 5, 20))),
    st.tuples(st.just("leave"), client),
    st.tuples(st.just("disconnect"), client, st.sampled_from((None, 0, 10, NEVER))),
    st.tuples(
        st.just("subscribe"),
        client,
        st.sampled_from(FILTERS),
        st.integers(0, 2),
        st.sampled_from((0, 1, 300)),
    ),
    st.tuples(st.just("unsubscribe"), client, st.sampled_from(FILTERS)),
    st.tuples(
        st.just("publish"),
        client,
        st.sampled_from(TOPICS),
        st.integers(0, 2),
        st.booleans(),
        st.integers(1, 4),
        st.sampled_from((None, 0, 3, 30)),
    ),
    st.tuples(st.just("publish"), client, st.just("t/1"), st.just(2), st.just(False), st.just(4)),
    st.tuples(st.just("release"), client),
    st.tuples(st.just("acknowledge"), client, st.integers(1, 4)),
    st.tuples(st.just("acknowledge"), client, st.just(4)),
    st.tuples(st.just("commit")),
    st.tuples(st.just("begin checkpoint")),
    st.tuples(st.just("chunks"), st.integers(1, 8)),
    st.tuples(st.just("cut")),
)


class Story:
    """Runs steps on a harness with three clients."""

    def __init__(self, data_dir: Path) -> None:
        limits = Limits()
        limits.max_inflight = 2
        self.harness = Harness(data_dir, limits)
        self.connected: dict[str, Client] = {}
        self.payload = 0

    def play(self, step: tuple[object, ...]) -> None:
        """Run one step; a step that is impossible now does nothing."""
        name, *arguments = step
        method = getattr(self, "do_" + str(name).replace(" ", "_"))
        method(*arguments)

    def do_connect(self, client_id: str, clean: bool, with_will: bool) -> None:
        will = Will("t/2", b"will of " + client_id.encode(), 1, False) if with_will else None
        self.connected[client_id] = self.harness.connect(client_id, clean=clean, will=will)

    def do_connect_5(
        self,
        client_id: str,
        clean: bool,
        expiry: int,
        delay: int | None,
        receive_maximum: int,
    ) -> None:
        will = None
        if delay is not None:
            wanted = properties(
                will_delay_interval_seconds=delay,
                message_expiry_interval_seconds=30,
                user_properties=[("of", client_id)],
            )
            will = Will("t/2", b"will of " + client_id.encode(), 1, False, wanted)
        self.connected[client_id] = connect(
            self.harness,
            client_id,
            clean=clean,
            expiry=expiry,
            will=will,
            receive_maximum=receive_maximum,
        )

    def do_time(self, seconds: int) -> None:
        self.harness.advance(seconds)

    def do_leave(self, client_id: str) -> None:
        client = self.connected.pop(client_id, None)
        if client is not None:
            self.harness.lose(client)

    def do_disconnect(self, client_id: str, expiry: int | None = None) -> None:
        client = self.connected.pop(client_id, None)
        if client is not None and client.version == 5 and expiry is not None:
            changed = properties(session_expiry_interval_seconds=expiry)
            client.send(Disconnect(0x04, changed))
        elif client is not None:
            client.send_bytes(b"\xe0\x00")

    def do_subscribe(
        self, client_id: str, topic_filter: str, qos: int, identifier: int = 0
    ) -> None:
        if client_id in self.connected:
            wanted = properties(subscription_identifiers=[identifier]) if identifier else None
            subscription = Subscription(
                topic_filter, qos, retain_as_published=identifier == 1, retain_handling=1
            )
            self.connected[client_id].send(Subscribe(1, [subscription], wanted))

    def do_unsubscribe(self, client_id: str, topic_filter: str) -> None:
        if client_id in self.connected:
            self.connected[client_id].send(Unsubscribe(1, [topic_filter]))

    def do_publish(  # noqa: PLR0917 - played from a tuple
        self,
        client_id: str,
        topic: str,
        qos: int,
        retain: bool,
        packet_id: int,
        expiry: int | None = None,
    ) -> None:
        if client_id in self.connected:
            self.payload += 1
            wanted = None
            if expiry is not None:
                wanted = properties(
                    message_expiry_interval_seconds=expiry, user_properties=[("a", "1")]
                )
            payload = b"%d" % self.payload
            packet = Publish(topic, payload, qos, retain, False, packet_id if qos else 0, wanted)
            self.connected[client_id].send(packet)

    def do_release(self, client_id: str) -> None:
        session = self.harness.broker.state.sessions.get(client_id)
        if client_id in self.connected and session is not None and session.inbound:
            self.connected[client_id].send(Pubrel(next(iter(session.inbound))))

    def do_acknowledge(self, client_id: str, count: int) -> None:
        session = self.harness.broker.state.sessions.get(client_id)
        if client_id not in self.connected or session is None:
            return
        for delivery in list(session.outbound.values())[:count]:
            if delivery.state is DeliveryState.SENT:
                answer = Puback if delivery.qos == 1 else Pubrec
                self.connected[client_id].send(answer(delivery.packet_id))
            elif delivery.state is DeliveryState.RECEIVED:
                self.connected[client_id].send(Pubcomp(delivery.packet_id))

    def do_commit(self) -> None:
        self.harness.commit()

    def do_begin_checkpoint(self) -> None:
        self.harness.begin_checkpoint()

    def do_chunks(self, count: int) -> None:
        self.harness.seal(checkpoint_chunks=count)

    def do_cut(self) -> None:
        self.harness.commit()
        for client in self.connected.values():
            self.harness.lose(client)
        self.harness.commit()
        before = picture_of(self.harness)
        self.harness.cut()
        self.connected = {}
        assert picture_of_start(self.harness) == before


def picture_of_start(harness: Harness) -> object:
    """Return the picture after a start, without the events that the start itself recorded."""
    picture = picture_of(harness)
    picture["sequence"] = harness.recovered.next_sequence
    return picture


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], derandomize=False)
@given(st.lists(steps, min_size=5, max_size=60))
def test_a_cut_at_any_step_of_any_checkpoint_loses_and_invents_nothing(
    story_steps: list[tuple[object, ...]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        story = Story(Path(folder))
        try:
            for step in story_steps:
                story.play(step)
            story.do_cut()
        finally:
            story.harness.close()


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps.filter(lambda step: step[0] != "cut"), min_size=5, max_size=50))
def test_the_journal_alone_holds_the_whole_state(story_steps: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        story = Story(Path(folder))
        harness = story.harness
        try:
            for step in story_steps:
                story.play(step)
            for client in story.connected.values():
                harness.lose(client)
            harness.commit()
            state = State(harness.logged)
            replay = Replay(state, harness.now, lambda number: None)
            for blob in harness.blobs:
                replay.apply(Blob(blob))
            replay.finish()
            live = harness.broker.state
            persistent = {name for name, session in live.sessions.items() if session.persistent}
            assert set(state.sessions) == persistent
            for name in persistent:
                assert (
                    state.sessions[name].subscriptions.keys()
                    == live.sessions[name].subscriptions.keys()
                )
                assert list(state.sessions[name].inbound) == list(live.sessions[name].inbound)
                assert list(state.sessions[name].outbound) == list(live.sessions[name].outbound)
                assert state.sessions[name].queued_count == live.sessions[name].queued_count
            assert state.retained.keys() == live.retained.keys()
        finally:
            harness.close()
