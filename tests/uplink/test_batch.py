"""One transaction: what it writes, and what may be sent after it."""

from pathlib import Path

from gateway.uplink.batch import Batch, session_key, subscriptions_key
from gateway.uplink.lane import Lane
from gateway.uplink.reception import Arrival, Reception
from gateway.uplink.recovery import open_uplink_store
from gateway.uplink.routes import Side
from gateway.uplink.settlement import Arrived, SessionLost, Settlement
from tests.uplink.bench import message


def batch_in(path: Path) -> tuple[Batch, Lane, Settlement]:
    store = open_uplink_store(path)
    lanes = {side: Lane(store, side, bytes_max=10_000) for side in Side}
    receptions = {side: Reception(set()) for side in Side}
    settlement = Settlement(lanes, receptions)
    store.begin()
    return Batch(store, lanes, receptions, settlement), lanes[Side.REMOTE], settlement


def test_an_empty_batch_is_not_due(tmp_path: Path) -> None:
    batch, _, _ = batch_in(tmp_path / "uplink.db")
    batch.write(takes_arrivals=True, now=0.0, loop_seconds=0.0)
    assert not batch.is_due(removal_due=True)


def test_a_batch_without_room_is_taken_back_and_written_without_its_arrivals(
    tmp_path: Path,
) -> None:
    batch, lane, settlement = batch_in(tmp_path / "uplink.db")
    settlement.settle(Arrived(Side.LOCAL, Arrival(message(), 1)))
    batch.write(takes_arrivals=True, now=0.0, loop_seconds=0.0)
    assert (batch.has_arrivals, lane.waiting) == (True, 1)
    assert batch.is_due(removal_due=False)
    batch.take_back()
    assert (batch.has_arrivals, lane.waiting, lane.bytes_held) == (False, 0, 0)
    batch.write(takes_arrivals=False, now=0.0, loop_seconds=0.0)
    assert not batch.is_due(removal_due=False)


def test_a_lost_session_loses_its_name_and_its_subscriptions(tmp_path: Path) -> None:
    batch, _, settlement = batch_in(tmp_path / "uplink.db")
    settlement.settle(SessionLost(Side.REMOTE))
    batch.write(takes_arrivals=True, now=0.0, loop_seconds=0.0)
    assert batch.is_due(removal_due=False)
    assert settlement.changes[Side.REMOTE].session == ""
    assert session_key(Side.REMOTE) != session_key(Side.LOCAL)
    assert subscriptions_key(Side.REMOTE) != subscriptions_key(Side.LOCAL)
