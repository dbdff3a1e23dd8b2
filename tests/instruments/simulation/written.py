"""A killed process loses nothing that its completed turns received without an acknowledgement.

The broker's state at the end of its last turn is compared with the state that the next run finds:
retained QoS 0 messages, and deliveries with a received PUBACK or PUBCOMP. A power cut may lose the
last second of changes.
"""

from gateway.broker.core.state import State
from gateway.broker.server.event_loop.event_loop import EventLoop
from tests.instruments.simulation.simulated_store import SimulatedStore
from tests.instruments.simulation.violation import require

RULE = "a killed process loses nothing that was passed to it"


class Picture:
    """The state at the end of a turn that no client waits for."""

    def __init__(self, state: State) -> None:
        self.retained = {
            topic: message.number for topic, message in state.retained.items() if not message.qos
        }
        self.next_message_number = state.next_message_number
        self.open: dict[int, tuple[int, set[int]]] = {}
        """By session: the position below which deliveries are complete, and open ones after it."""
        for session in state.sessions.values():
            if session.persistent:
                positions = {delivery.position for delivery in session.outbound.values()}
                self.open[session.number] = (session.first_position, positions)


class Written:
    """Records the state after each turn of one run."""

    def __init__(self, event_loop: EventLoop, store: SimulatedStore) -> None:
        self._event_loop = event_loop
        self._store = store
        self._tick = event_loop._tick
        self.last: Picture | None = None
        event_loop._tick = self._watched_tick  # type: ignore[method-assign]

    def _watched_tick(self) -> None:
        self._tick()
        if self._event_loop.committer.failure is None and not self._store.lacks_room:
            self.last = Picture(self._event_loop.broker.state)

    def check(self, found: State) -> None:
        """Compare the last state with the state that the next run found.

        Raises:
            Violation: a part of the last state is missing.
        """
        # This also holds while the batch is retried, and then no waiting is reported.
        if self.last is None or self._store.lacks_room:
            return  # on a full disk, data written ahead of their batch found no room either
        alive = self._event_loop.broker.state
        for topic, number in self.last.retained.items():
            now = alive.retained.get(topic)
            if now is None or now.number != number:
                continue  # replaced after the turn
            kept = found.retained.get(topic)
            require(
                kept is not None and kept.number == number,
                RULE,
                f"{topic}: message {number} was retained, found {kept and kept.number}",
            )
        for session_number, (first_position, positions) in self.last.open.items():
            session = found.numbers.get(session_number)
            if session is None:
                continue
            for delivery in session.outbound.values():
                require(
                    delivery.position >= first_position or delivery.position in positions,
                    RULE,
                    f"{session.client_id}: delivery {delivery.packet_id} of message "
                    f"{delivery.message_number} was over, and is in flight again",
                )
