"""A client as the standards describe it, written without a look at the broker.

It keeps its session state over everything that happens to its connections (3.1.1 and 5.0 section
4.1: what it sent and was not acknowledged, the QoS 2 identifiers it received), resends on
reconnect, acknowledges in order, and keeps the server's receive maximum. What the broker may not do
is checked at each packet. What it is made to do comes from the plan.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.wire.decoder import Decoder
from gateway.wire.encoder import PINGREQ, encode
from gateway.wire.packets import (
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
from tests.simulation.connecting import Connecting
from tests.simulation.ledger import Message
from tests.simulation.network import Link
from tests.simulation.plan import ClientPlan
from tests.simulation.sightings import Sightings
from tests.simulation.subscriptions import Subscriptions
from tests.simulation.violation import require

if TYPE_CHECKING:
    from tests.simulation.world import World

FIRST_OTHER_ID = 40_000
"""Identifiers of SUBSCRIBE and UNSUBSCRIBE begin here, far from those of PUBLISH."""

PACKET_ID_NOT_FOUND = 0x92


@dataclass
class Outgoing:
    """A QoS 1 or 2 message under way to the broker."""

    message: Message
    received: bool = False
    """PUBREC has come: PUBREL is what is resent."""


class Client:
    """One client, over all its connections."""

    def __init__(self, plan: ClientPlan, world: "World") -> None:
        self.plan = plan
        self.name = plan.name
        self.world = world
        self.subscriptions = Subscriptions()
        self.sightings = Sightings(plan.name, world.ledger, self.subscriptions)
        self.connecting = Connecting(self, world)
        self.wanted: dict[str, int] = dict(plan.filters)
        self.granted: dict[str, int] = dict(plan.filters)
        """The QoS this client asks for, whenever it asks for a filter."""
        self.backlog: deque[Message] = deque()
        self.outgoing: dict[int, Outgoing] = {}
        self.incoming: dict[int, bytes] = {}
        """QoS 2 identifiers received and not released, with what came under them."""
        self.asked: dict[int, tuple[bool, str]] = {}
        """SUBSCRIBE and UNSUBSCRIBE without an answer on this connection."""
        self.in_hand: dict[int, bool] = {}
        """Identifiers that the broker may not use on this connection yet: counted or not."""
        self.server_receive_maximum = 65_535
        self.published_count = 0
        self._decoder = Decoder(1 << 20, plan.version, "client")
        self._answers: deque[Callable[[], None]] = deque()
        self._answer_due = 0.0
        self._last_id = 0
        self._last_other_id = FIRST_OTHER_ID

    # -- what the plan makes it do

    def publish(self, message: Message) -> None:
        """The application publishes: behind what waits already."""
        self.backlog.append(message)
        self._work_off()

    def subscribe(self, topic_filter: str, qos: int) -> None:
        """The application subscribes, perhaps again."""
        self.wanted[topic_filter] = self.granted.setdefault(topic_filter, qos)
        if self.connecting.connected:
            self._send_subscribe(topic_filter)

    def unsubscribe(self, topic_filter: str) -> None:
        """The application has heard enough."""
        if self.wanted.pop(topic_filter, None) is not None and self.connecting.connected:
            self._send_unsubscribe(topic_filter)

    def is_finished(self) -> bool:
        """Return whether everything it began is over."""
        link = self.connecting.link
        return (
            link is not None
            and link.is_whole()
            and self.connecting.connected
            and not self.backlog
            and not self.outgoing
            and not self.incoming
            and not self.in_hand
            and not self.asked
        )

    # -- a connection begins

    def begin_connection(self) -> None:
        """A connection was made: what belonged to the one before is over."""
        self._decoder = Decoder(1 << 20, self.plan.version, "client")
        self._answers.clear()
        self.in_hand.clear()
        self.asked.clear()

    def forget_session(self) -> None:
        """The broker has no session: nothing is known of what was under way."""
        for outgoing in self.outgoing.values():
            outgoing.message.abandoned = True
        self.outgoing.clear()
        self.incoming.clear()
        self.subscriptions.session_gone(self.world.moment)

    def resume(self) -> None:
        """CONNACK came: resend in the original order [MQTT-4.4.0-1], then go on."""
        for packet_id, outgoing in self.outgoing.items():
            if outgoing.received:
                self._send(Pubrel(packet_id))
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

    def _send(self, packet: Packet) -> None:
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
        properties = None
        if message.expiry_seconds is not None and self.plan.version == 5:
            properties = Properties()
            properties.message_expiry_interval_seconds = message.expiry_seconds
        if message.first_sent is None:
            message.first_sent = self.world.moment
            message.first_sent_ms = self.world.wall_ms
        message.sent_count += 1
        message.temporary = message.temporary or not self.connecting.is_durable()
        self._send(
            Publish(
                message.topic,
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
        self.subscriptions.subscribe_sent(topic_filter, qos, self.world.moment)
        self._send(Subscribe(packet_id, [Subscription(topic_filter, qos)]))

    def _send_unsubscribe(self, topic_filter: str) -> None:
        packet_id = self._other_id()
        self.asked[packet_id] = (False, topic_filter)
        self.subscriptions.unsubscribe_sent(topic_filter, self.world.moment)
        self._send(Unsubscribe(packet_id, [topic_filter]))

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
        # A short round: identifiers are used again soon, as by clients that count little.
        while True:
            self._last_id = self._last_id % 30 + 1
            if self._last_id not in self.outgoing:
                return self._last_id

    # -- receiving

    def receive(self, data: bytes) -> None:
        """Bytes of the current connection."""
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
            return  # the connection's end follows
        require(
            self.connecting.connected,
            "CONNACK comes first",
            f"{self.name} received {packet!r} before CONNACK",
        )
        if isinstance(packet, Publish):
            self._receive_publish(packet)
        elif isinstance(packet, Pubrel):
            self._receive_pubrel(packet)
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

    def _receive_publish(self, packet: Publish) -> None:
        if not packet.qos:
            self.sightings.see(packet, self.world.moment)
            return
        packet_id = packet.packet_id
        require(
            packet_id not in self.in_hand,
            "no packet identifier is used twice at a time",
            f"{self.name} received {packet!r} while {packet_id} is in use",
        )
        self.in_hand[packet_id] = True
        self._check_window()
        if packet.qos == 1:
            require(
                packet_id not in self.incoming,
                "no packet identifier is used twice at a time",
                f"{self.name} received {packet!r} while {self.incoming.get(packet_id)!r} is not "
                "released",
            )
            self.sightings.see(packet, self.world.moment)
            self._answer(Puback(packet_id), ends=True)
            return
        before = self.incoming.get(packet_id)
        if before is None:
            self.incoming[packet_id] = packet.payload
            self.sightings.see(packet, self.world.moment)
        else:
            require(
                packet.dup and before == packet.payload,
                "no packet identifier is used twice at a time",
                f"{self.name} received {packet!r} while {before!r} is not released",
            )
        self._answer(Pubrec(packet_id), ends=False)

    def _check_window(self) -> None:
        allowed = self.world.max_inflight
        if self.plan.receive_maximum and self.plan.version == 5:
            allowed = min(allowed, self.plan.receive_maximum)
        count = sum(self.in_hand.values())
        require(
            count <= allowed,
            "the receive maximum is kept",
            f"{self.name} has {count} messages in hand, and allows {allowed}",
        )

    def _receive_pubrel(self, packet: Pubrel) -> None:
        # An unknown identifier is answered as well: the broker's PUBREL may be a repeat.
        self.incoming.pop(packet.packet_id, None)
        self.in_hand.setdefault(packet.packet_id, False)
        self._answer(Pubcomp(packet.packet_id), ends=True)

    def _answer(self, packet: Packet, *, ends: bool) -> None:
        """Answer in the order of what is answered [MQTT-4.6.0-2], after some thinking."""
        packet_id = getattr(packet, "packet_id", 0)

        def send() -> None:
            self._send(packet)
            if ends:
                self.in_hand.pop(packet_id, None)

        if not self.plan.thinking_seconds:
            send()
            return
        self._answers.append(send)
        self._answer_due = max(
            self._answer_due,
            self.world.now + self.connecting.chance.random() * self.plan.thinking_seconds,
        )
        self.world.at(self._answer_due, self._send_answer, self.connecting.link)

    def _send_answer(self, link: Link) -> None:
        if link is self.connecting.link and self.connecting.connected and self._answers:
            self._answers.popleft()()

    def _receive_answer(self, packet: Puback | Pubrec | Pubcomp) -> None:
        outgoing = self.outgoing.get(packet.packet_id)
        expected: tuple[type[Packet], ...] = ()
        if outgoing is not None:
            expected = (Puback,) if outgoing.message.qos == 1 else (Pubrec, Pubcomp)
            if outgoing.message.qos == 2:
                expected = (Pubcomp,) if outgoing.received else (Pubrec,)
        require(
            isinstance(packet, expected)
            and (packet.reason_code < 0x80 or _is_forgotten_release(packet)),
            "an acknowledgement is for something that was sent",
            f"{self.name} received {packet!r} for {outgoing!r}",
        )
        assert outgoing is not None
        if isinstance(packet, Pubrec):
            outgoing.received = True
            self._send(Pubrel(packet.packet_id))
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


def _is_forgotten_release(packet: Packet) -> bool:
    """Return whether a repeated PUBREL is answered for a message that was released before."""
    return isinstance(packet, Pubcomp) and packet.reason_code == PACKET_ID_NOT_FOUND
