"""A client as the standards describe it, written independently of the broker.

It keeps its session state across its connections (3.1.1 and 5.0 section 4.1): unacknowledged
messages, and received QoS 2 identifiers. It resends on reconnect, acknowledges in order, and keeps
the server's receive maximum. It checks each packet for what the broker must not do. The plan
decides what the client does.
"""

from collections import deque
from typing import TYPE_CHECKING

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.encoder import PINGREQ, encode
from gateway.broker.wire.packets import (
    Connack,
    Disconnect,
    Packet,
    Pingresp,
    Properties,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
)
from tests.instruments.simulation.aliases import Aliases
from tests.instruments.simulation.answers import is_forgotten_release, is_refusal
from tests.instruments.simulation.connecting import Connecting
from tests.instruments.simulation.incoming import Incoming
from tests.instruments.simulation.ledger import Message, Outgoing
from tests.instruments.simulation.plan import ClientPlan
from tests.instruments.simulation.sightings import Sightings
from tests.instruments.simulation.subscriptions import Subscriptions
from tests.instruments.simulation.violation import require

if TYPE_CHECKING:
    from tests.instruments.simulation.world import World

FIRST_OTHER_ID = 40_000
"""Identifiers of SUBSCRIBE and UNSUBSCRIBE begin here, far from those of PUBLISH."""


class Client:
    """A client with all its connections."""

    def __init__(self, plan: ClientPlan, world: "World") -> None:
        self.plan = plan
        self.name = plan.name
        self.world = world
        self.subscriptions = Subscriptions()
        self.sightings = Sightings(
            plan.name,
            world.ledger,
            self.subscriptions,
            drops=world.queues_overflow,
            ended_count=lambda: world.witness.ended_count,
        )
        self.connecting = Connecting(self, world)
        self.wanted: dict[str, int] = dict(plan.filters)
        self.granted: dict[str, int] = dict(plan.filters)
        """The QoS that this client requests for each filter, always the same."""
        self.backlog: deque[Message] = deque()
        self.outgoing: dict[int, Outgoing] = {}
        self.incoming = Incoming(self)
        self.aliases = Aliases(plan, world.count)
        self.asked: dict[int, tuple[bool, str]] = {}
        """SUBSCRIBE and UNSUBSCRIBE packets that are unanswered on this connection."""
        self.server_receive_maximum = 65_535
        self.published_count = 0
        self._decoder = Decoder(1 << 20, plan.version, "client")
        self._last_id = 0
        self._last_other_id = FIRST_OTHER_ID

    # -- actions of the plan

    def publish(self, message: Message) -> None:
        """Publish a message after those that are already waiting."""
        self.backlog.append(message)
        self._work_off()

    def subscribe(self, topic_filter: str, qos: int) -> None:
        """Subscribe, perhaps for a second time."""
        self.wanted[topic_filter] = self.granted.setdefault(topic_filter, qos)
        if self.connecting.connected:
            self._send_subscribe(topic_filter)

    def unsubscribe(self, topic_filter: str) -> None:
        """Unsubscribe."""
        if self.wanted.pop(topic_filter, None) is not None and self.connecting.connected:
            self._send_unsubscribe(topic_filter)

    def is_finished(self) -> bool:
        """Return True if everything that the client began is complete."""
        link = self.connecting.link
        return (
            link is not None
            and link.is_whole()
            and self.connecting.connected
            and not self.backlog
            and not self.outgoing
            and self.incoming.is_finished()
            and not self.asked
        )

    # -- start of a connection

    def begin_connection(self) -> None:
        """Reset the state that belongs to one connection."""
        self._decoder = Decoder(1 << 20, self.plan.version, "client")
        self.incoming.begin_connection()
        self.aliases.begin_connection()
        self.asked.clear()

    def forget_session(self) -> None:
        """Drop the session's state, because the broker has no session."""
        for outgoing in self.outgoing.values():
            outgoing.message.abandoned = True
        self.outgoing.clear()
        self.incoming.unreleased.clear()
        self.subscriptions.session_gone(self.world.moment)

    def resume(self) -> None:
        """Resend in the original order [MQTT-4.4.0-1] after CONNACK, and then continue."""
        for packet_id, outgoing in self.outgoing.items():
            if outgoing.received:
                self.send(Pubrel(packet_id))
            else:
                self._send_publish(packet_id, outgoing.message, dup=True)
        for topic_filter in self.wanted:
            if not self.subscriptions.has(topic_filter):
                self._send_subscribe(topic_filter)
        for topic_filter in self.granted:
            if topic_filter not in self.wanted and self.subscriptions.in_doubt(topic_filter):
                self._send_unsubscribe(topic_filter)
        self._work_off()

    # -- sending

    def send(self, packet: Packet) -> None:
        """Send a packet on the current connection."""
        link = self.connecting.link
        assert link is not None
        self.world.tell(self.name, "-> ", packet)
        link.send(encode(packet, self.plan.version))

    def ping(self) -> None:
        """Send PINGREQ."""
        link = self.connecting.link
        assert link is not None
        link.send(PINGREQ)

    def _send_publish(self, packet_id: int, message: Message, *, dup: bool) -> None:
        topic, alias = self.aliases.shortened(message.topic)
        properties = None
        if self.plan.version == 5 and (alias or message.expiry_seconds is not None):
            properties = Properties()
            properties.message_expiry_interval_seconds = message.expiry_seconds
            properties.topic_alias = alias or None
        if message.first_sent is None:
            message.first_sent = self.world.moment
            message.first_sent_at = self.world.now
        message.sent_count += 1
        message.temporary = message.temporary or not self.connecting.is_persistent()
        self.send(
            Publish(
                topic,
                message.payload,
                message.qos,
                message.retain,
                dup,
                packet_id,
                properties,
            )
        )

    def _send_subscribe(self, topic_filter: str) -> None:
        packet_id = self._other_id()
        self.asked[packet_id] = (True, topic_filter)
        qos = self.granted[topic_filter]
        temporary = not self.connecting.is_persistent()
        self.subscriptions.subscribe_sent(topic_filter, qos, self.world.moment, temporary=temporary)
        self.send(Subscribe(packet_id, [Subscription(topic_filter, qos)]))

    def _send_unsubscribe(self, topic_filter: str) -> None:
        packet_id = self._other_id()
        self.asked[packet_id] = (False, topic_filter)
        self.subscriptions.unsubscribe_sent(topic_filter, self.world.moment)
        self.send(Unsubscribe(packet_id, [topic_filter]))

    def _other_id(self) -> int:
        self._last_other_id = FIRST_OTHER_ID + (self._last_other_id + 1 - FIRST_OTHER_ID) % 20_000
        return self._last_other_id

    def _work_off(self) -> None:
        window = min(self.plan.window, self.server_receive_maximum)
        while self.connecting.connected and self.backlog:
            message = self.backlog[0]
            if message.qos and len(self.outgoing) >= window:
                return
            self.backlog.popleft()
            packet_id = 0
            if message.qos:
                packet_id = self._free_id()
                self.outgoing[packet_id] = Outgoing(message)
            self._send_publish(packet_id, message, dup=False)

    def _free_id(self) -> int:
        # A short cycle: identifiers are reused soon, as by simple clients.
        while True:
            self._last_id = self._last_id % 30 + 1
            if self._last_id not in self.outgoing:
                return self._last_id

    # -- receiving

    def receive(self, data: bytes) -> None:
        """Handle bytes from the current connection."""
        for packet in self._decoder.feed(data):
            self.world.tell(self.name, "<- ", packet)
            self._receive_packet(packet)
        error = self._decoder.error
        require(error is None, "the broker speaks MQTT", f"{self.name}: {error and error.detail}")

    def _receive_packet(self, packet: Packet) -> None:
        if isinstance(packet, Connack):
            self.connecting.receive_connack(packet)
            return
        if isinstance(packet, Disconnect):
            return  # the end of the connection follows
        require(
            self.connecting.connected,
            "CONNACK comes first",
            f"{self.name} received {packet!r} before CONNACK",
        )
        if isinstance(packet, Publish):
            self.incoming.receive_publish(packet)
        elif isinstance(packet, Pubrel):
            self.incoming.receive_pubrel(packet)
        elif isinstance(packet, Puback | Pubrec | Pubcomp):
            self._receive_answer(packet)
        elif isinstance(packet, Suback | Unsuback):
            self._receive_asked(packet)
        else:
            require(
                isinstance(packet, Pingresp),
                "the broker speaks MQTT",
                f"{self.name} received {packet!r}",
            )

    def _receive_answer(self, packet: Puback | Pubrec | Pubcomp) -> None:
        outgoing = self.outgoing.get(packet.packet_id)
        expected: tuple[type[Packet], ...] = ()
        if outgoing is not None:
            expected = (Puback,) if outgoing.message.qos == 1 else (Pubrec, Pubcomp)
            if outgoing.message.qos == 2:
                expected = (Pubcomp,) if outgoing.received else (Pubrec,)
            if isinstance(packet, expected) and self.world.queues_refuse and is_refusal(packet):
                self.world.count("PUBLISH refused by a full queue")
                outgoing.message.refused = outgoing.message.sent_count == 1
                del self.outgoing[packet.packet_id]
                self._work_off()
                return
        require(
            isinstance(packet, expected)
            and (packet.reason_code < 0x80 or is_forgotten_release(packet)),
            "an acknowledgement is for something that was sent",
            f"{self.name} received {packet!r} for {outgoing!r}",
        )
        assert outgoing is not None
        if isinstance(packet, Pubrec):
            outgoing.received = True
            self.send(Pubrel(packet.packet_id))
            return
        outgoing.message.acknowledged = self.world.moment
        del self.outgoing[packet.packet_id]
        self._work_off()

    def _receive_asked(self, packet: Suback | Unsuback) -> None:
        subscribes, topic_filter = self.asked.pop(packet.packet_id, (None, ""))
        require(
            subscribes is isinstance(packet, Suback)
            and all(code < 0x80 for code in packet.reason_codes),
            "an acknowledgement is for something that was sent",
            f"{self.name} received {packet!r} for {topic_filter!r}",
        )
        if subscribes:
            self.subscriptions.suback_received(topic_filter, self.world.moment)
        else:
            self.subscriptions.unsuback_received(topic_filter, self.world.moment)
