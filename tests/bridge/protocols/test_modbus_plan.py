"""Requests to one device: a refusal costs only the refused registers and is rarely retried."""

import pytest
from firmware_bridge.protocols.frame import Damage, Frame, Outcome, Refused
from firmware_bridge.protocols.modbus_device import Device
from firmware_bridge.protocols.modbus_plan import (
    BUSY_REPEATS_MAX,
    FAILING_SECONDS_MAX,
    SILENT_REQUESTS_MAX,
    Plan,
)
from firmware_bridge.protocols.modbus_refused import (
    REFUSED_AGAIN_SECONDS_MAX,
    REFUSED_AGAIN_SECONDS_MIN,
    SEARCH_SILENT_MAX,
)
from firmware_bridge.protocols.modbus_register import Register
from hypothesis import given
from hypothesis import strategies as st

from tests.bridge.protocols.modbus_slave import INTERVAL, Polled, Slave, names, polled


@pytest.mark.parametrize("missing", [{0}, {59}, {17}, {17, 18}, {3, 30, 59}, set(range(20, 40))])
@pytest.mark.parametrize("code", [1, 2, 3, 200])
def test_a_register_that_a_device_refuses_costs_itself_and_is_found_once(
    missing: set[int], code: int
) -> None:
    bench = polled(Slave(missing, code=code), [*range(60), 100])
    all_names = names(*range(60), 100)
    assert bench.poll() == all_names - names(*missing)
    assert bench.unread == names(*missing)
    assert len(bench.slave.requests) <= 2 + 2 * 6 * len(missing)
    assert len(bench.learnt) == 1
    for read in bench.polls(REFUSED_AGAIN_SECONDS_MIN - 2 * INTERVAL):
        assert read == all_names - names(*missing)
        assert all(missing.isdisjoint(range(at, at + n)) for at, n in bench.slave.requests)


def test_what_was_refused_is_asked_for_again_rarely_and_read_when_the_device_gives_it() -> None:
    slave = Slave({5})
    bench = polled(slave, range(10))
    asked = 0
    for _ in bench.polls(10 * REFUSED_AGAIN_SECONDS_MAX):
        asked += any(at <= 5 < at + count for at, count in slave.requests)
    # 1 minute, doubling up to an hour: 6 in the first hour, then 1 per hour.
    assert 8 <= asked <= 10 + 8 + 5
    slave.missing.clear()
    found = list(bench.polls(REFUSED_AGAIN_SECONDS_MAX + INTERVAL))
    assert found[-1] == names(*range(10))
    assert slave.requests == [(0, 10)]
    assert bench.unread == set()
    assert bench.learnt[-1] == "d answers for holding 5 (r5) again"
    assert len(bench.learnt) == 2


@pytest.mark.parametrize("most", [2, 10, 50, 80, 123])
@pytest.mark.parametrize("code", [2, 3])
def test_a_device_that_gives_fewer_registers_is_asked_for_as_many_from_then_on(
    most: int, code: int
) -> None:
    slave = Slave(most=most, code=code)
    all_names = names(*range(0, 250, 2))
    bench = polled(slave, range(0, 250, 2), "u32")
    assert bench.poll() == all_names
    assert bench.poll() == all_names
    for read in bench.polls(REFUSED_AGAIN_SECONDS_MIN - 3 * INTERVAL):
        assert read == all_names
        assert max(count for _, count in slave.requests) <= most
        assert len(slave.requests) <= 2 * (250 // most + 1)
    assert bench.unread == set()
    assert "registers_per_request" in bench.learnt[0]


def test_registers_per_request_is_never_exceeded_and_needs_no_refusal() -> None:
    slave = Slave(most=50)
    bench = polled(slave, range(0, 130, 2), "u32", registers_per_request=50)
    for read in bench.polls(10):
        assert read == names(*range(0, 130, 2))
        assert slave.requests == [(0, 50), (50, 50), (100, 30)]


def test_a_limit_that_was_learnt_from_a_passing_refusal_is_forgotten() -> None:
    slave = Slave(most=20)
    bench = polled(slave, range(0, 100, 2), "u32")
    bench.poll()
    slave.most = 125
    for read in bench.polls(REFUSED_AGAIN_SECONDS_MIN + INTERVAL):
        assert read == names(*range(0, 100, 2))
    assert slave.requests == [(0, 100)]


@pytest.mark.parametrize("border", [1, 30, 99])
def test_a_block_that_crosses_a_border_of_the_device_is_asked_for_in_parts(border: int) -> None:
    slave = Slave(borders=(border,))
    bench = polled(slave, range(100))
    for _ in range(4):
        assert bench.poll() == names(*range(100))
    assert len(slave.requests) <= 16
    assert not any(at < border < at + count for at, count in slave.requests)


@given(
    st.sets(st.integers(0, 59), max_size=6),
    st.integers(1, 60),
    st.sets(st.integers(1, 59), max_size=2),
)
def test_any_device_gives_all_that_it_has_with_each_poll_and_soon_without_a_refusal(
    missing: set[int], most: int, borders: set[int]
) -> None:
    slave = Slave(missing, most=most, borders=tuple(borders))
    bench = polled(slave, range(60))
    expected = names(*(set(range(60)) - missing))
    for _ in range(12):
        assert bench.poll() == expected
    before = len(bench.learnt)
    assert bench.poll() == expected
    assert len(bench.learnt) == before
    assert bench.unread == names(*missing)
    assert len(slave.requests) <= 60


def test_a_device_that_refuses_everything_is_asked_for_its_blocks_as_a_whole_and_rarely() -> None:
    slave = Slave(always=Refused("exception_2"))
    bench = polled(slave, [*range(8), *range(20, 24)])
    assert bench.poll() == set()
    assert len(slave.requests) == 15 + 7
    assert list(bench.polls(REFUSED_AGAIN_SECONDS_MIN - 2 * INTERVAL))[-1] == set()
    assert slave.requests == []
    slave.always = None
    found = list(bench.polls(2 * INTERVAL))
    assert found[-1] == names(*range(8), *range(20, 24))
    assert sorted(slave.requests) == [(0, 8), (20, 4)]


def test_a_device_that_was_starting_and_lacks_a_register_gives_the_others_after_a_while() -> None:
    slave = Slave({3}, always=Refused("exception_1"))
    bench = polled(slave, range(8))
    bench.poll()
    slave.always = None
    found = list(bench.polls(REFUSED_AGAIN_SECONDS_MIN + INTERVAL))
    assert found[-1] == names(*range(8)) - names(3)


def test_a_failure_that_passes_costs_the_poll_and_one_that_lasts_is_a_refusal() -> None:
    slave = Slave({4}, code=4)
    bench = polled(slave, [*range(8), 20])
    for read in bench.polls(FAILING_SECONDS_MAX):
        assert read == names(20)
        assert slave.requests == [(0, 8), (20, 1)]
    assert bench.poll() == names(*range(8), 20) - names(4)
    (learnt,) = bench.learnt
    assert learnt == (
        "d refuses holding 4 (r4): exception 4, device failure; asked for again in 60 s, the other "
        "registers are read; check at, kind and type"
    )


def test_a_device_that_is_busy_is_asked_again_after_a_pause_and_not_without_end() -> None:
    slave = Slave(always=Refused("exception_6"))
    bench = polled(slave, [0, 10])
    bench.plan.begin_poll(0.0)
    for _ in range(BUSY_REPEATS_MAX):
        block = bench.plan.next_block()
        assert block is not None
        assert block.first == 0
        bench.plan.end(block, slave.answer(block), 0.0)
        assert bench.plan.is_busy
    block = bench.plan.next_block()
    assert block is not None
    assert block.first == 0
    slave.always = None
    bench.plan.end(block, slave.answer(block), 0.0)
    assert not bench.plan.is_busy
    slave.always = Refused("exception_6")
    while bench.plan.next_block() is not None:
        pass
    assert bench.poll() == set()
    assert slave.requests == [(0, 1)] * (1 + BUSY_REPEATS_MAX) + [(10, 1)]
    assert bench.unread == set()


@pytest.mark.parametrize(
    "outcome", [Damage("no_answer"), Refused("exception_11"), Refused("exception_10")]
)
def test_a_device_that_is_off_costs_one_request_a_poll_and_any_of_its_answers_brings_all(
    outcome: Outcome,
) -> None:
    slave = Slave(always=outcome)
    bench = polled(slave, list(range(0, 20, 2)))
    assert bench.poll() == set()
    assert len(slave.requests) == 2
    for _ in range(5):
        assert bench.poll() == set()
        assert len(slave.requests) == 1
    slave.always = None
    assert bench.poll() == names(*range(0, 20, 2))
    assert bench.unread == set()


@pytest.mark.parametrize("missing", [{4}, {2, 7}])
@pytest.mark.parametrize("code", [5, 11, None])
@pytest.mark.parametrize("others", [[], [20]])
def test_registers_for_which_a_device_is_never_ready_cost_themselves_in_the_end(
    missing: set[int], code: int | None, others: list[int]
) -> None:
    slave = Slave(silent=missing) if code is None else Slave(missing, code=code)
    bench = polled(slave, [*range(10), *others])
    for _ in bench.polls(3 * FAILING_SECONDS_MAX):
        pass
    assert bench.poll() == names(*(set(range(10)) - missing), *others)
    assert bench.unread == names(*missing)
    for read in bench.polls(4 * REFUSED_AGAIN_SECONDS_MIN):
        assert read >= names(*(set(range(10)) - missing), *others)
    slave.missing.clear()
    slave.silent.clear()
    for _ in bench.polls(8 * REFUSED_AGAIN_SECONDS_MIN):
        pass
    assert bench.poll() == names(*range(10), *others)
    assert bench.unread == set()


def test_a_device_that_never_answers_for_a_table_is_asked_for_it_rarely() -> None:
    slave = Slave(silent=set(range(100, 160)))
    bench = polled(slave, [*range(10), *range(100, 160)])
    waited = 0
    for _ in bench.polls(10 * REFUSED_AGAIN_SECONDS_MIN):
        silent = sum(at >= 100 for at, _ in slave.requests)
        assert silent <= SEARCH_SILENT_MAX + SILENT_REQUESTS_MAX
        waited += silent
    assert waited < 80
    assert bench.learnt[0].startswith("d does not answer for holding 1")
    assert bench.poll() == names(*range(10))


def test_a_device_that_is_off_for_a_night_is_read_whole_with_its_first_answer() -> None:
    slave = Slave()
    bench = polled(slave, [*range(10), 20])
    bench.poll()
    slave.always = Damage("no_answer")
    requests = [len(slave.requests) for _ in bench.polls(10 * REFUSED_AGAIN_SECONDS_MAX)]
    assert max(requests[1:]) == 1
    slave.always = None
    found = [bench.poll() for _ in range(2)]
    assert found[1] == names(*range(10), 20)
    assert bench.learnt == []


@pytest.mark.parametrize("silent", [{0}, {4}, {18}])
def test_a_block_to_which_a_device_is_silent_costs_no_other(silent: set[int]) -> None:
    bench = polled(Slave(silent=silent), list(range(0, 20, 2)))
    for _ in range(5):
        assert bench.poll() == names(*(set(range(0, 20, 2)) - silent))


def test_blocks_after_silent_ones_are_asked_with_the_next_poll() -> None:
    bench = polled(Slave(silent={0, 2, 4}), list(range(0, 20, 2)))
    found = [bench.poll() for _ in range(6)]
    assert set().union(*found[1:]) == names(*range(6, 20, 2))


@pytest.mark.parametrize("reason", ["checksum", "truncated", "address", "noise"])
def test_a_damaged_answer_costs_its_block_and_no_other(reason: str) -> None:
    slave = Slave()
    bench = polled(slave, [0, 10, 20])
    bench.plan.begin_poll(0.0)
    block = bench.plan.next_block()
    assert block is not None
    bench.plan.end(block, Damage(reason), 0.0)
    rest = [bench.plan.next_block() for _ in range(3)]
    assert [each and each.first for each in rest] == [10, 20, None]


def test_a_search_in_which_the_device_is_cut_off_begins_again_with_the_next_poll() -> None:
    slave = Slave({5})
    bench = polled(slave, range(8))
    bench.plan.begin_poll(0.0)
    for outcome in (slave.answer, slave.answer, lambda _: Damage("checksum")):
        block = bench.plan.next_block()
        assert block is not None
        bench.plan.end(block, outcome(block), 0.0)
    assert bench.plan.next_block() is None
    assert bench.poll() == names(*range(8)) - names(5)


def test_a_value_that_was_none_is_unread_until_it_is_one() -> None:
    device = Device(name="d", address=1, registers=(Register(name="a", at=7, no_value=(7,)),))
    slave = Slave()
    bench = Polled(Plan(device), slave)
    assert bench.poll() == set()
    (unread,) = bench.plan.unread()
    assert (unread.place, unread.reason) == ("holding 7", "no_value")
    slave.always = Frame({}, device="d")
    bench.poll()
    assert bench.unread == set()
