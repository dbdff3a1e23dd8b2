"""The durable outbox: no acknowledgement before the commit, and no loss by a restart."""

import asyncio
from pathlib import Path

import pytest
from firmware_bridge.readings.numbering import BoardIdentity
from firmware_bridge.readings.publications import Publication

from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.outbox.bench import Bench, readings, rows_of, running, submit_frame


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outbox.db"


async def test_the_window_bounds_what_is_in_flight_and_order_is_kept(path: Path) -> None:
    async with running(Bench(path, window=2)) as bench:
        bench.connect()
        bench.outbox.submit(readings("a", "b", "c", "d"))
        await bench.sends("a as 1", "b as 2")
        bench.outbox.receive_pubrec(2)
        await bench.sends("release 2")
        bench.outbox.receive_pubcomp(2)
        await bench.sends("c as 3")
        assert bench.outbox.status()["waiting"] == 1


async def test_a_restart_continues_each_exchange_with_its_packet_identifier(path: Path) -> None:
    async with running(Bench(path, window=2)) as bench:
        bench.connect()
        bench.outbox.submit(readings("a", "b", "c"))
        await bench.sends("a as 1", "b as 2")
        bench.outbox.receive_pubrec(2)
        await bench.sends("release 2")
    async with running(Bench(path, window=3)) as bench:
        bench.outbox.submit(readings("d"))
        bench.connect(session_present=True)
        await bench.sends("release 2", "a as 1 again", "c as 3")
        bench.outbox.receive_pubcomp(2)
        await bench.sends("d as 4")


async def test_a_smaller_window_holds_for_what_an_earlier_run_had_in_flight(path: Path) -> None:
    async with running(Bench(path, window=5)) as bench:
        bench.connect()
        bench.outbox.submit(readings("a", "b", "c", "d", "e"))
        await bench.sends("a as 1", "b as 2", "c as 3", "d as 4", "e as 5")
        bench.outbox.receive_pubrec(4)
        await bench.sends("release 4")
    async with running(Bench(path, window=2)) as bench:
        bench.outbox.submit(readings("f"))
        bench.connect()
        await bench.sends("release 4", "a as 1 again")
        bench.outbox.receive_pubcomp(4)
        await bench.sends("b as 2 again")
        for packet_id, next_one in ((1, "c as 3 again"), (2, "e as 5 again"), (3, "f as 1")):
            bench.outbox.receive_pubrec(packet_id)
            await bench.sends(f"release {packet_id}")
            bench.outbox.receive_pubcomp(packet_id)
            await bench.sends(next_one)
        bench.disconnect()
        bench.connect()
        await bench.sends("e as 5 again", "f as 1 again")


async def test_without_a_session_the_readings_go_out_again_as_new_and_are_counted(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(Bench(path, window=2)) as bench:
        bench.connect()
        bench.outbox.submit(readings("a", "b", "c"))
        await bench.sends("a as 1", "b as 2")
        bench.outbox.receive_pubrec(1)
        await bench.sends("release 1")
        bench.disconnect()
        bench.connect(session_present=False)
        await bench.sends("a as 3", "b as 4")
        assert bench.outbox.status()["republished"] == 2
        assert bench.outbox.status()["waiting"] == 1
        assert rows_of(path) == [(b"a", 3, 0), (b"b", 4, 0), (b"c", None, 0)]
    assert "lost our session: 2 readings" in caplog.text


async def test_a_repeated_pubrec_is_answered_again_and_a_stray_pubcomp_removes_nothing(
    path: Path,
) -> None:
    async with running(Bench(path, window=1)) as bench:
        bench.connect()
        bench.outbox.submit(readings("a", "b"))
        await bench.sends("a as 1")
        bench.outbox.receive_pubrec(1)
        bench.outbox.receive_pubrec(1)
        await bench.sends("release 1", "release 1")
        bench.outbox.receive_pubcomp(1)
        await bench.sends("b as 2")
        bench.outbox.receive_pubcomp(2)
        await bench.settled()
        assert bench.outbox.unexpected_pubcomps == 1
        assert bench.outbox.status()["in_flight"] == 1
        bench.outbox.receive_pubrec(77)
        await bench.sends("release 77")


async def test_a_frame_accepted_before_is_not_stored_again_even_after_a_restart(
    path: Path,
) -> None:
    async with running(Bench(path)) as bench:
        durable, first = submit_frame(bench, 1, "a")
        again, repeated = submit_frame(bench, 1, "a")
        assert (first.is_new, repeated.is_new) == (True, False)
        assert again is durable, "a repeat is acknowledged when its original is durable"
        await bench.settled()
    async with running(Bench(path)) as bench:
        assert not submit_frame(bench, 1, "a")[1].is_new
        other = submit_frame(bench, 1, "other contents")[1]
        assert (other.is_new, other.published_boot) == (True, 1 + 2**32)
        await bench.settled()
        assert bench.outbox.status()["waiting"] == 2


async def test_a_frame_whose_readings_cannot_be_made_is_not_noted_as_accepted(path: Path) -> None:
    def fail(_: int) -> list[Publication]:
        raise ArithmeticError("no such reading")

    async with running(Bench(path)) as bench:
        with pytest.raises(ArithmeticError):
            bench.outbox.submit_frame(BoardIdentity(42, 1, 1), b"contents", "port", fail)
        await bench.settled()
        assert submit_frame(bench, 1, "a")[1].is_new


async def test_a_full_outbox_reports_it_once_and_takes_readings_again_when_there_is_room(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(Bench(path, bytes_max=1000)) as bench:
        while not bench.outbox.full_by:
            bench.outbox.submit(readings("x" * 50))
        bench.outbox.submit(readings("more"))
        await bench.settled()
        assert caplog.text.count("the outbox is full") == 1
        bench.connect()
        while bench.outbox.full_by:
            for packet_id in range(1, 20):
                bench.outbox.receive_pubrec(packet_id)
                bench.outbox.receive_pubcomp(packet_id)
            await bench.settled()
        await asyncio.wait_for(bench.outbox.wait_for_room(), DEADLINE_SECONDS)


async def test_the_bytes_held_are_zero_when_everything_has_gone(path: Path) -> None:
    async with running(Bench(path)) as bench:
        bench.connect()
        bench.outbox.submit(readings("a", "b"))
        await bench.sends("a as 1", "b as 2")
        for packet_id in (1, 2):
            bench.outbox.receive_pubrec(packet_id)
        await bench.sends("release 1", "release 2")
        for packet_id in (1, 2):
            bench.outbox.receive_pubcomp(packet_id)
        bench.outbox.submit(readings("c"))
        await bench.sends("c as 3")
        assert bench.outbox.status()["bytes"] == len("sensors/d/c") + 1 + 48
    bench = Bench(path)
    assert bench.outbox.status()["bytes"] == len("sensors/d/c") + 1 + 48
    await bench.outbox.close()
