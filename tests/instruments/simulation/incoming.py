"""QoS 1 and 2 messages from the broker to a client, and the client's answers.

The identifiers of QoS 2 messages that were received and not released outlive the connection. The
identifiers that the broker must not use yet, and the pending answers, belong to one connection.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from gateway.broker.wire.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from tests.instruments.simulation.ledger import key_of
from tests.instruments.simulation.network import Link
from tests.instruments.simulation.violation import require

if TYPE_CHECKING:
    from tests.instruments.simulation.client import Client

ONE_USE = "no packet identifier is used twice at a time"

Answer = Puback | Pubrec | Pubcomp


class Incoming:
    """The received messages of one client."""

    def __init__(self, client: "Client") -> None:
        self.client = client
        self.name = client.name
        self.plan = client.plan
        self.world = client.world
        self.sightings = client.sightings
        self.unreleased: dict[int, bytes] = {}
        """QoS 2 identifiers that were received and not released, with their messages."""
        self.in_hand: dict[int, bool] = {}
        """Identifiers that the broker must not use yet.

        True if they count for the receive maximum.
        """
        self._answers: deque[Callable[[], None]] = deque()
        self._answer_due = 0.0

    def begin_connection(self) -> None:
        """Reset the state that belongs to one connection."""
        self._answers.clear()
        self.in_hand.clear()

    def is_finished(self) -> bool:
        """Return True if no message must be answered or released."""
        return not (self.unreleased or self.in_hand)

    def receive_publish(self, packet: Publish) -> None:
        """Pass a message to the application unless it is repeated, and acknowledge it."""
        self.client.aliases.resolve(packet)
        message = self.world.ledger.messages.get(key_of(packet.payload))
        if self.plan.version == 5 and message is not None:
            self.world.durations.check_left(self.name, message, packet)
        if not packet.qos:
            self.sightings.see(packet, self.world.moment)
            return
        packet_id = packet.packet_id
        before = self.unreleased.get(packet_id)
        require(
            packet_id not in self.in_hand
            and (before is None or (packet.qos == 2 and packet.dup and before == packet.payload)),
            ONE_USE,
            f"{self.name} received {packet!r}; in hand: {sorted(self.in_hand)}, not released under "
            f"this identifier: {before!r}",
        )
        self.in_hand[packet_id] = True
        self._check_window()
        if before is None:
            self.sightings.see(packet, self.world.moment)
        if packet.qos == 1:
            self._answer(Puback(packet_id), ends=True)
            return
        self.unreleased[packet_id] = packet.payload
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

    def receive_pubrel(self, packet: Pubrel) -> None:
        """Answer a PUBREL, even with an unknown identifier: the broker may have repeated it."""
        self.unreleased.pop(packet.packet_id, None)
        self.in_hand.setdefault(packet.packet_id, False)
        self._answer(Pubcomp(packet.packet_id), ends=True)

    def _answer(self, packet: Answer, *, ends: bool) -> None:
        """Answer after a delay, in the order of the received packets [MQTT-4.6.0-2]."""

        def send() -> None:
            self.client.send(packet)
            if ends:
                self.in_hand.pop(packet.packet_id, None)

        if not self.plan.thinking_seconds:
            send()
            return
        connecting = self.client.connecting
        self._answers.append(send)
        self._answer_due = max(
            self._answer_due,
            self.world.now + connecting.chance.random() * self.plan.thinking_seconds,
        )
        self.world.at(self._answer_due, self._send_answer, connecting.link)

    def _send_answer(self, link: Link) -> None:
        connecting = self.client.connecting
        if link is connecting.link and connecting.connected and self._answers:
            self._answers.popleft()()
