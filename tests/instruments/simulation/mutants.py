"""Brokers with one mistake each, all of which the simulation must catch.

A mutant replaces one function of the real broker inside a `with` block. The mistakes are those that
brokers have had, or that a change of this one could easily introduce.
"""

from typing import Any
from unittest import mock

from gateway.broker.core.broker import Broker
from gateway.broker.core.core import Core
from gateway.broker.core.frames import Frames
from gateway.broker.core.output import Output
from gateway.broker.core.records.kinds import RecordKind
from gateway.broker.core.records.record import Contents
from gateway.broker.core.records.recorder import Recorder
from gateway.broker.core.records.replay import Replay
from gateway.broker.core.rules.connect import disconnect
from gateway.broker.core.rules.deliver import acknowledge, deliver, fan_out, resend
from gateway.broker.core.rules.publish import admission, qos2_receive
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import Delivery, DeliveryState, Message
from gateway.broker.core.sessions.packet_buffer import PacketBuffer
from gateway.broker.core.sessions.session import Session
from gateway.broker.store.store import Store
from gateway.broker.wire.acknowledgement_encoder import pubrec
from gateway.broker.wire.packets import Publish
from tests.instruments.simulation.mutant import Mutant, later, later_when_committed, one


def _speaks_before_commit(_: object) -> object:
    def withheld(self: Output, connection: Connection) -> PacketBuffer:
        connection.connack_released = True
        return self._outgoing(connection)

    return withheld


def _starts_before_commit(right: Any) -> object:
    def start(core: Core, *arguments: Any) -> None:
        with mock.patch.object(core.output, "_withheld", core.output._outgoing):
            right(core, *arguments)

    return start


def _new_identifier_on_resend(right: Any) -> object:
    def resend(
        core: Core, session: Session, connection: Connection, delivery: Delivery, now: float
    ) -> None:
        if delivery.state is DeliveryState.SENT and delivery.message is not None:
            session.outbound.remove(delivery.packet_id)
            core.recorder.delivery_started(delivery, session.free_packet_id())
        right(core, session, connection, delivery, now)

    return resend


def _publish_again_after_pubrec(right: Any) -> object:
    def resend(
        core: Core, session: Session, connection: Connection, delivery: Delivery, now: float
    ) -> None:
        if delivery.state is DeliveryState.RECEIVED and delivery.message is not None:
            delivery.state = DeliveryState.SENT
        right(core, session, connection, delivery, now)

    return resend


def _one_identifier_map(right: Any) -> object:
    def receive_publish(
        core: Core, session: Session, connection: Connection, packet: Publish, now: float
    ) -> object:
        if packet.packet_id in session.outbound:
            core.output.send(connection, pubrec(packet.packet_id))
            return None
        return right(core, session, connection, packet, now)

    return receive_publish


def _forgets_received(_: object) -> object:
    def delivery_received(self: Recorder, delivery: Delivery) -> None:
        self.state.delivery_received(delivery)

    return delivery_received


def _forgets_held(right: Any) -> object:
    def apply(self: Replay, record: Contents, session: Session | None) -> None:
        right(self, record, session)
        if record.kind is RecordKind.MESSAGE_HELD and session is not None:
            session.inbound.clear()

    return apply


def _delivers_repeats(right: Any) -> object:
    def receive_publish(
        core: Core, session: Session, connection: Connection, packet: Publish, now: float
    ) -> object:
        held = session.inbound.get(packet.packet_id)
        if held is not None:
            route = core.state.tree.route_of(held.message.topic)
            admission.record(core, session, held.message, route)
            fan_out.distribute(core, session, route, held.message, now)
        return right(core, session, connection, packet, now)

    return receive_publish


def _window_ignored(_: object) -> object:
    return lambda self, limits: 65_535


def _pages_reversed(right: Any) -> object:
    def load_page(self: Store, *arguments: Any) -> tuple[dict[int, Message], list[Delivery], int]:
        contents, deliveries, count = right(self, *arguments)
        turned = [delivery.message for delivery in reversed(deliveries)]
        for delivery, message in zip(deliveries, turned, strict=True):
            if message is not None:
                delivery.message, delivery.message_number = message, message.number
        return contents, deliveries, count

    return load_page


def _no_dup(right: Any) -> object:
    def delivery(self: object, *arguments: Any) -> object:
        return right(self, *arguments[:-1], False)

    return delivery


def _identifier_reused(right: Any) -> object:
    def free_packet_id(self: Session) -> int:
        self.last_packet_id = self.last_packet_id % 2 + 1
        return self.last_packet_id

    return free_packet_id


def _completed_at_pubrec(right: Any) -> object:
    def receive_pubrec(core: Core, session: Session, *arguments: Any) -> object:
        wrong = right(core, session, *arguments)
        delivery = session.outbound.get(arguments[1])
        if delivery is not None:
            core.recorder.delivery_completed(delivery)
        return wrong

    return receive_pubrec


def _subscription_unrecorded(_: object) -> object:
    def subscribed(self: Recorder, session: Session, subscription: Any) -> None:
        self.state.subscribed(session, subscription)

    return subscribed


def _sessions_never_expire(_: object) -> object:
    return lambda self, session, now: None


def _will_forgotten_at_restart(right: Any) -> object:
    def start(self: Broker, *arguments: Any) -> None:
        self.state.wills.clear()
        right(self, *arguments)

    return start


def _unacknowledged_is_dropped(right: Any) -> object:
    def resume(core: Core, session: Session, now: float) -> None:
        for delivery in list(session.outbound.values()):
            core.recorder.delivery_completed(delivery)
        right(core, session, now)

    return resume


def _retained_unrecorded(_: object) -> object:
    def retained_set(self: Recorder, message: Message) -> None:
        self.state.retained_set(message.topic, message)

    return retained_set


def _will_published_after_disconnect(right: Any) -> object:
    def receive_disconnect(core: Core, connection: Connection, packet: Any, now: float) -> object:
        packet.reason_code = 4
        return right(core, connection, packet, now)

    return receive_disconnect


AWAY = "a session expires while its client is away"

MUTANTS = (
    one("speak before commit", Output, "_withheld", _speaks_before_commit),
    one("send PUBLISH before its start is committed", deliver, "_start", _starts_before_commit),
    one("new packet identifier on resend", resend, "_resend", _new_identifier_on_resend),
    one("PUBLISH again after PUBREC", resend, "_resend", _publish_again_after_pubrec),
    Mutant(
        "split release",
        (
            (fan_out, "distribute", later),
            (Broker, "committed", later_when_committed),
        ),
        begin=16,
    ),
    one(
        "one identifier map for both directions",
        qos2_receive,
        "receive_publish",
        _one_identifier_map,
    ),
    one("forget DeliveryReceived", Recorder, "delivery_received", _forgets_received),
    one("forget MessageHeld at recovery", Replay, "_contents", _forgets_held),
    one("deliver a repeat", qos2_receive, "receive_publish", _delivers_repeats),
    one("window ignored", Connection, "window_of", _window_ignored),
    one("pages reversed", Store, "load_page", _pages_reversed),
    one("identifier reused", Session, "free_packet_id", _identifier_reused),
    one("completed at PUBREC", acknowledge, "receive_pubrec", _completed_at_pubrec),
    one("subscription not recorded", Recorder, "subscribed", _subscription_unrecorded),
    one("sessions never expire", disconnect, "expire", _sessions_never_expire, scenario=AWAY),
    one("will forgotten at restart", Broker, "start", _will_forgotten_at_restart),
    one("resend nothing", deliver, "resume", _unacknowledged_is_dropped),
    one("a repeat does not say so", Frames, "delivery", _no_dup),
    one("retained message not recorded", Recorder, "retained_set", _retained_unrecorded),
    one(
        "will after DISCONNECT",
        disconnect,
        "receive_disconnect",
        _will_published_after_disconnect,
        begin=1,  # the limit of steps ends run 0 of the process
    ),
)
