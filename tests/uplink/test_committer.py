"""The uplink's commits: what must be durable before a packet is sent. Each file is reopened."""

import asyncio
from pathlib import Path

import pytest

from gateway.broker.wire.packets import Puback, Pubcomp, Pubrec, Pubrel
from gateway.process.durable_queue import committer as queue_committer
from gateway.uplink import committer
from gateway.uplink.routes import Side
from tests.small_disk import small_disk
from tests.uplink.bench import Bench, running

LOCAL, REMOTE = Side.LOCAL, Side.REMOTE


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "uplink.db"


async def test_a_message_is_stored_before_pubrec_and_sent_with_its_identifier(path: Path) -> None:
    async with running(Bench(path)) as bench:
        bench.connect(LOCAL)
        bench.arrive(LOCAL, 7, "a")
        assert await bench.sent(LOCAL) == ["pubrec 7"]
    async with running(Bench(path)) as bench:
        assert bench.committer.receptions[LOCAL].held == {7}
        bench.connect(LOCAL)
        bench.arrive(LOCAL, 7, "a")
        assert await bench.sent(LOCAL) == ["pubrec 7"], "a repeat is answered"
        assert bench.connect(REMOTE) == []
        assert await bench.sent(REMOTE) == ["publish 1 a"], "and not stored again"
    async with running(Bench(path)) as bench:
        assert bench.connect(REMOTE) == ["publish 1 a again"]
        bench.answer(REMOTE, Pubrec(1))
        assert await bench.sent(REMOTE) == ["pubrel 1"]
    async with running(Bench(path)) as bench:
        assert bench.connect(REMOTE) == ["pubrel 1"], "PUBREC was durable before PUBREL left"
        bench.answer(REMOTE, Pubcomp(1))
        await bench.sent(REMOTE)
        assert bench.committer.lanes[REMOTE].counters["forwarded"] == 1


async def test_pubrel_frees_the_identifier_before_pubcomp_leaves(path: Path) -> None:
    async with running(Bench(path)) as bench:
        bench.connect(LOCAL)
        bench.arrive(LOCAL, 7, "a")
        bench.answer(LOCAL, Pubrel(99))
        assert await bench.sent(LOCAL) == ["pubcomp 99", "pubrec 7"]
        bench.answer(LOCAL, Pubrel(7))
        assert await bench.sent(LOCAL) == ["pubcomp 7"]
        bench.arrive(LOCAL, 7, "b")
        assert await bench.sent(LOCAL) == ["pubrec 7"]
        assert bench.committer.lanes[REMOTE].waiting == 2, "another message under the same number"
    async with running(Bench(path)) as bench:
        assert bench.committer.receptions[LOCAL].held == {7}
        bench.connect(LOCAL)
        bench.answer(LOCAL, Pubrel(7))
        assert await bench.sent(LOCAL) == ["pubcomp 7"]
    async with running(Bench(path)) as bench:
        assert bench.committer.receptions[LOCAL].held == set()


async def test_qos_1_is_stored_before_puback_and_gone_after_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_committer, "REMOVAL_SECONDS_MAX", 0.0)
    async with running(Bench(path)) as bench:
        bench.connect(LOCAL)
        bench.connect(REMOTE)
        bench.arrive(LOCAL, 3, "a", qos=1)
        assert await bench.sent(LOCAL) == ["puback 3"]
        assert await bench.sent(REMOTE) == ["publish 1 a"]
        bench.answer(REMOTE, Puback(1))
        async with asyncio.timeout(60):
            while bench.store.messages[REMOTE].totals() != (0, 0):  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.01)


async def test_without_its_session_a_side_forgets_and_what_was_in_flight_waits_again(
    path: Path,
) -> None:
    async with running(Bench(path)) as bench:
        bench.connect(LOCAL)
        bench.connect(REMOTE)
        bench.arrive(LOCAL, 7, "a")
        bench.arrive(LOCAL, 8, "b")
        bench.arrive(REMOTE, 9, "c")
        await bench.sent(REMOTE)
        bench.answer(REMOTE, Pubrec(1))
        await bench.sent(REMOTE)
        bench.disconnect(REMOTE)
        bench.lose_session(REMOTE)
        await bench.sent(REMOTE)
        assert bench.committer.sessions == {LOCAL: "session-LOCAL", REMOTE: None}
    async with running(Bench(path)) as bench:
        assert bench.committer.receptions[REMOTE].held == set(), "its numbers mean nothing any more"
        assert bench.committer.receptions[LOCAL].held == {7, 8}, "the other side's do"
        assert bench.connect(REMOTE) == []
        assert await bench.sent(REMOTE) == ["publish 1 a", "publish 2 b"]


async def test_a_full_queue_stops_the_answers_until_there_is_room(path: Path) -> None:
    async with running(Bench(path, queue_bytes_max=150)) as bench:
        bench.connect(LOCAL)
        for packet_id in (1, 2, 3):
            bench.arrive(LOCAL, packet_id, f"{packet_id}")
        assert await bench.sent(LOCAL) == ["pubrec 1", "pubrec 2"]
        bench.connect(REMOTE)
        assert await bench.sent(REMOTE) == ["publish 1 1", "publish 2 2"]
        bench.answer(REMOTE, Pubrec(1))
        bench.answer(REMOTE, Pubcomp(1))
        await bench.sent(REMOTE)
        assert await bench.sent(LOCAL) == ["pubrec 3"], "the removal made room for it"
        assert await bench.sent(REMOTE) == ["publish 3 3"]


async def test_what_is_refused_for_the_moment_is_sent_again_and_the_rest_dropped(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "REFUSED_PAUSE_SECONDS", 0.0)
    async with running(Bench(path)) as bench:
        bench.connect(LOCAL)
        bench.connect(REMOTE)
        bench.arrive(LOCAL, 1, "quota")
        bench.arrive(LOCAL, 2, "forbidden")
        await bench.sent(REMOTE)
        bench.answer(REMOTE, Pubrec(1, 0x97))
        bench.answer(REMOTE, Pubrec(2, 0x87))
        await bench.sent(LOCAL)
        async with asyncio.timeout(60):
            sent: list[str] = []
            while not sent:
                sent += await bench.sent(REMOTE)
        assert sent == ["publish 3 quota"]
        assert bench.committer.lanes[REMOTE].counters["refused"] == 1


async def test_on_a_full_disk_nothing_is_answered_and_what_is_stored_leaves(
    tmp_path: Path,
) -> None:
    with small_disk(tmp_path / "d", 4 << 20) as disk:
        async with running(Bench(disk.folder / "uplink.db")) as bench:
            bench.connect(LOCAL)
            bench.arrive(LOCAL, 1, "a")
            assert await bench.sent(LOCAL) == ["pubrec 1"]
            disk.fill()
            bench.arrive(LOCAL, 2, "b")
            assert await bench.sent(LOCAL) == []
            assert bench.committer.disk_full
            bench.connect(REMOTE)
            assert await bench.sent(REMOTE) == ["publish 1 a"]
            bench.answer(REMOTE, Pubrec(1))
            assert await bench.sent(REMOTE) == ["pubrel 1"]
            disk.empty()
            async with asyncio.timeout(60):
                sent: list[str] = []
                while not sent:
                    sent += await bench.sent(LOCAL)
            assert sent == ["pubrec 2"]


async def test_the_clock_goes_on_where_the_last_run_left_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "CLOCK_SECONDS", 0.0)
    async with running(Bench(path)) as bench:
        bench.store.begin()
        bench.store.set_property("clock", "500.0")
        bench.store.commit()
    async with running(Bench(path)) as bench:
        assert 500.0 <= bench.committer.now < 560.0
        bench.connect(LOCAL)
        bench.arrive(LOCAL, 1)
        await bench.sent(LOCAL)
        assert float(bench.store.property("clock") or 0) > 500.0
