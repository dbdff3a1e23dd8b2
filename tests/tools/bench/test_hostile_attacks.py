"""`make hostile` on a real broker: two short attacks, an honest client whose connection is cut, and
a killed broker."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.instruments.benchmarks.hostile.attackers import BY_NAME
from tests.instruments.benchmarks.hostile.besieged import BesiegedBroker, besieged
from tests.instruments.benchmarks.hostile.honest import Honest
from tests.instruments.benchmarks.hostile.honest_clients import COME_BACK_SECONDS
from tests.instruments.benchmarks.hostile.rows import failures_of_row
from tests.instruments.benchmarks.hostile.siege import ROOT, Plan, besiege, besiege_running

SHORT = Plan(calm=0.4, attack=0.5, settle=0.1, after=0.4, gives_way=False)


@pytest.mark.parametrize(
    ("name", "counted"),
    [("MalformedStorm", "field_truncated"), ("ProxyHeaders", "proxy_header")],
)
async def test_honest_messages_arrive_once_beside_an_attack(
    tmp_path: Path, name: str, counted: str
) -> None:
    row = await besiege(BY_NAME[name], ROOT, tmp_path, SHORT)
    assert row["done"]["problem"] is None
    assert row["done"]["connections"] > 10
    assert row["conservation"]["sent"] > 30
    assert {**row["conservation"], "sent": 0} == dict.fromkeys(row["conservation"], 0)
    assert set(row["samples"]) == set(row["during_ms"])
    assert row["memory_before_bytes"] > 1 << 20
    assert row["memory_most_bytes"] >= row["memory_after_bytes"]
    assert row["counted"][counted] > 5


async def test_an_honest_client_that_is_cut_comes_back_and_loses_nothing(tmp_path: Path) -> None:
    with besieged(ROOT, tmp_path / "data") as broker:
        honest = Honest(broker.port, 100, lambda: broker.is_running)
        try:
            await honest.begin()
            end = asyncio.Event()
            publishing = asyncio.create_task(honest.publish_until(end))
            for _ in range(2):
                await asyncio.sleep(4 * COME_BACK_SECONDS)
                honest.cut()
            await asyncio.sleep(4 * COME_BACK_SECONDS)
            end.set()
            await publishing
        finally:
            honest.leave()
    conservation = honest.ledger.conservation()
    assert conservation.sent > 100
    assert conservation.connections_lost == 6
    assert (conservation.lost, conservation.doubled) == (0, 0)


class DoomedBroker(BesiegedBroker):
    """A broker that is killed a moment after the attack has begun."""

    def forget_high_water(self) -> None:
        super().forget_high_water()
        asyncio.get_running_loop().call_later(0.2, self.signal, signal.SIGKILL)


async def test_a_broker_that_ends_is_reported_with_its_exit_code(tmp_path: Path) -> None:
    broker = DoomedBroker(ROOT, tmp_path / "data")
    try:
        broker.start()
        row = await besiege_running(BY_NAME["Nothing"], broker, SHORT)
    finally:
        broker.remove()
    assert "exit code -9" in row["ended"]
    assert failures_of_row(row) == ["the broker exited"]
