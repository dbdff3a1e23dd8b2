"""A transaction: the rows it writes, the exchanges it starts, and the packets sent afterwards."""

from collections.abc import Mapping

from gateway.uplink.lane import Lane, Start
from gateway.uplink.reception import Arrival, Reception
from gateway.uplink.routes import Side
from gateway.uplink.settlement import Settlement
from gateway.uplink.store import UplinkStore


class Batch:
    """Everything that one commit makes durable, for both sides."""

    def __init__(
        self,
        store: UplinkStore,
        lanes: Mapping[Side, Lane],
        receptions: Mapping[Side, Reception],
        settlement: Settlement,
    ) -> None:
        self._store = store
        self._lanes = lanes
        self._receptions = receptions
        self._settlement = settlement
        self._taken: dict[Side, list[Arrival]] = {side: [] for side in Side}
        self._starts: dict[Side, Start] = {}
        self._gone: dict[Side, int] = {}

    def write(self, *, takes_arrivals: bool, now: float, loop_seconds: float) -> None:
        """Write everything in the store's transaction.

        `takes_arrivals`: the disk has room for new messages. May be called again after `take_back`.
        """
        for side in Side:
            self._write_settled(side)
        for source, reception in self._receptions.items():
            lane = self._lanes[source.other]
            taken = (
                reception.fitting(lane.room_bytes, is_empty=lane.is_empty) if takes_arrivals else []
            )
            self._taken[source] = taken
            self._write_arrivals(source, taken)
        self._starts = {side: lane.start(now, loop_seconds) for side, lane in self._lanes.items()}

    @property
    def has_arrivals(self) -> bool:
        """True if it stores new messages."""
        return any(self._taken.values())

    def is_due(self, *, removal_due: bool) -> bool:
        """Return True if it contains more than deletions, which may wait."""
        return (
            self._settlement.needs_commit
            or self.has_arrivals
            or any(start.count for start in self._starts.values())
            or any(
                # Messages that have arrived may wait for the room.
                lane.gone and (removal_due or self._receptions[side.other].arrivals)
                for side, lane in self._lanes.items()
            )
        )

    def take_back(self) -> None:
        """Undo `write` after its transaction was rolled back."""
        for side, lane in self._lanes.items():
            lane.take_back(self._starts[side])
            lane.unstored([each.message for each in self._taken[side.other]])
            self._taken[side.other] = []

    def committed(self) -> bool:
        """Record that the batch is durable. Return True if waiting messages may have room now."""
        for side, lane in self._lanes.items():
            lane.removed(self._gone[side])
            lane.started(self._starts[side])
            self._receptions[side].stored(self._taken[side])
        return any(each.arrivals for each in self._receptions.values()) and (
            self.has_arrivals or any(self._gone.values())
        )

    def send(self, now: float) -> None:
        """Send the packets that depend on this batch to each side."""
        for side, lane in self._lanes.items():
            outlet = lane.outlet
            if outlet is None:
                continue
            packets = [*self._settlement.changes[side].answers]
            packets += [each.answer() for each in self._taken[side]]
            # [MQTT-4.4.0-1] messages for which gmqtt's replay had no room in the broker's window
            again = lane.exchanges.take_unsent()
            packets += [outlet.packet_of(each, now, again=True) for each in again]
            new = self._starts[side].exchanges
            packets += [outlet.packet_of(each, now, again=False) for each in new]
            if packets:
                outlet.send(b"".join(packets))

    def _write_settled(self, side: Side) -> None:
        store, changes, lane = self._store, self._settlement.changes[side], self._lanes[side]
        if changes.session is not None:
            store.set_property(session_key(side), changes.session)
        if changes.subscriptions is not None:
            store.set_property(subscriptions_key(side), changes.subscriptions)
        if changes.forgets_received:
            store.free_received(side, None)
        store.free_received(side, changes.freed)
        store.return_to_queue(side, changes.returned)
        store.release(side, changes.released)
        self._gone[side] = len(lane.gone)
        lane.write_gone()

    def _write_arrivals(self, source: Side, arrivals: list[Arrival]) -> None:
        messages = [each.message for each in arrivals]
        self._store.insert(source.other, messages)
        self._store.note_received(
            source, [each.packet_id for each in arrivals if each.message.qos == 2]
        )
        # Here, so that an exchange may begin in the same transaction.
        self._lanes[source.other].stored(messages)


def session_key(side: Side) -> str:
    """Return the name of the property with our session's name at a side's broker."""
    return f"session_{side.name.lower()}"


def subscriptions_key(side: Side) -> str:
    """Return the name of the property with that session's subscriptions, as JSON."""
    return f"subscriptions_{side.name.lower()}"
