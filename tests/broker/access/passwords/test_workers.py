"""The processes that check passwords: real ones, killed at every stage of a check."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.broker.access.passwords import workers as module
from gateway.broker.access.passwords.argon2_hash import Argon2Hash
from gateway.broker.access.passwords.worker import NICENESS
from gateway.broker.access.passwords.workers import PasswordWorkers, WorkerFailed

SECRET = b"a secret that stands nowhere"
HASH = Argon2Hash.of(SECRET)
BUSY = "while True: pass"
RESIDENT_MIB_MAX = 40
"""Memory of a process with Python and Argon2, at most; a check takes 19 MiB more for a while."""


NEVER_SECONDS = 3600.0


@pytest.fixture(autouse=True)
def with_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Demand an unreachable share of a core, so that low-priority workers are replaced immediately.

    Other tests may keep all cores busy.
    """
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.001)
    monkeypatch.setattr(module, "SHARE_LEAST", 1_000_000.0)


@pytest_asyncio.fixture
async def workers() -> AsyncIterator[PasswordWorkers]:
    made = PasswordWorkers()
    yield made
    made.close()


async def one_that_gives_way(workers: PasswordWorkers, monkeypatch: pytest.MonkeyPatch) -> int:
    """Begin a check, and cancel it once its worker has low priority; return the process's id."""
    monkeypatch.setattr(module, "CHECK_SECONDS", NEVER_SECONDS)
    check = asyncio.create_task(workers.matches([HASH], SECRET))
    await asyncio.sleep(0)
    (process_id,) = workers.process_ids
    async with asyncio.timeout(30):
        while os.sched_getscheduler(process_id) != os.SCHED_IDLE:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)
    assert workers.process_ids == [process_id]
    check.cancel()
    return process_id


async def is_gone(process_id: int) -> None:
    """Wait until a process has ended and its parent has collected the exit status."""
    path = process(process_id)
    async with asyncio.timeout(30):
        while path.exists():  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)


def process(process_id: int) -> Path:
    """Return the folder in which the kernel describes a process."""
    return Path(f"/proc/{process_id}")


async def test_a_password_is_checked_by_a_process_that_stays(workers: PasswordWorkers) -> None:
    assert workers.process_ids == []
    assert await workers.matches([HASH, Argon2Hash("none")], SECRET) == [True, False]
    before = workers.process_ids
    assert await workers.matches([HASH], b"wrong") == [False]
    assert workers.process_ids == before
    assert len(before) == 1


async def test_an_idle_process_ends_and_the_next_check_starts_another(
    workers: PasswordWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS_MAX", 0.5)
    together = [workers.matches([HASH], SECRET) for _ in range(2)]
    assert await asyncio.gather(*together) == [[True], [True]]
    before = workers.process_ids
    assert len(before) == 2
    for process_id in before:
        await is_gone(process_id)
    assert workers.process_ids == []
    assert await workers.matches([HASH], SECRET) == [True]
    assert workers.failed_workers == 0


async def test_a_process_in_use_does_not_end(
    workers: PasswordWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS_MAX", 4.0)
    await workers.matches([HASH], SECRET)
    before = workers.process_ids
    for _ in range(5):
        await asyncio.sleep(0.9)
        assert await workers.matches([HASH], SECRET) == [True]
        assert workers.process_ids == before


async def test_the_first_password_is_checked_by_a_process_that_was_started_before(
    workers: PasswordWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.prepare()
    (process_id,) = workers.process_ids
    assert await workers.matches([HASH], SECRET) == [True]
    assert workers.process_ids == [process_id]
    assert os.sched_getscheduler(process_id) == os.SCHED_OTHER
    monkeypatch.setattr(module, "CHECK_SECONDS", NEVER_SECONDS)
    monkeypatch.setattr(workers, "_busy_until", float("-inf"))
    assert await workers.matches([HASH], SECRET) == [True]
    assert process_id not in workers.process_ids


async def test_as_many_processes_are_started_as_passwords_are_checked_at_a_time(
    workers: PasswordWorkers,
) -> None:
    answers = await asyncio.gather(*(workers.matches([HASH], SECRET) for _ in range(2)))
    assert answers == [[True], [True]]
    assert len(workers.process_ids) == 2


async def test_a_process_has_nothing_but_its_pipes_and_goes_first_when_memory_is_short(
    workers: PasswordWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONCEGATE_SECRET", "of the broker's environment")
    await workers.matches([HASH], SECRET)
    (process_id,) = workers.process_ids
    shown = process(process_id)
    environment = shown.joinpath("environ").read_bytes()
    assert b"ONCEGATE_SECRET" not in environment
    for written in (environment, shown.joinpath("cmdline").read_bytes()):
        assert SECRET not in written
        assert HASH.text.encode() not in written
    files = {int(each.name): str(each.readlink()) for each in shown.joinpath("fd").iterdir()}
    assert set(files) == {0, 1, 2}
    assert shown.joinpath("oom_score_adj").read_text() == "500\n"


async def test_a_process_gives_way_to_all_else(
    workers: PasswordWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    await is_gone(await one_that_gives_way(workers, monkeypatch))


async def test_where_others_leave_nothing_a_process_with_a_share_of_the_cores_takes_its_place(
    workers: PasswordWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.2)
    monkeypatch.setattr(module, "SHARE_LEAST", 0.1)
    check = asyncio.create_task(workers.matches([HASH], SECRET))
    await asyncio.sleep(0)
    (gave_way,) = workers.process_ids
    os.kill(gave_way, signal.SIGSTOP)  # like a core that others keep busy
    assert await check == [True]
    (process_id,) = workers.process_ids
    assert process_id != gave_way
    assert workers.failed_workers == 0
    assert os.sched_getscheduler(process_id) == os.SCHED_OTHER
    before = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, process_id) == min(19, before + NICENESS)
    assert await workers.matches([HASH], b"wrong") == [False]
    assert workers.process_ids == [process_id]


async def test_a_while_later_a_process_gives_way_again(
    workers: PasswordWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.1)
    await workers.matches([HASH], SECRET)
    (with_a_share,) = workers.process_ids
    assert os.sched_getscheduler(with_a_share) == os.SCHED_OTHER
    await asyncio.sleep(0.2)
    await one_that_gives_way(workers, monkeypatch)
    await is_gone(with_a_share)


async def test_a_core_that_others_keep_busy_lets_passwords_be_checked(
    workers: PasswordWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.2)
    monkeypatch.setattr(module, "SHARE_LEAST", 0.1)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})  # new processes inherit this core
    busy = [await asyncio.create_subprocess_exec(sys.executable, "-c", BUSY) for _ in range(2)]
    try:
        assert await workers.matches([HASH], SECRET) == [True]
        assert workers.failed_workers == 0
    finally:
        os.sched_setaffinity(0, cores)
        for each in busy:
            each.kill()
            await each.wait()


async def test_it_keeps_no_memory_of_what_it_checked(workers: PasswordWorkers) -> None:
    await workers.matches([HASH] * 3, SECRET)
    (process_id,) = workers.process_ids
    status = process(process_id).joinpath("status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    print(f"{int(found[1]) / 1024:.1f} MiB")
    assert int(found[1]) / 1024 < RESIDENT_MIB_MAX


async def test_the_next_password_is_checked_after_a_process_was_killed(
    workers: PasswordWorkers,
) -> None:
    await workers.matches([HASH], SECRET)
    (process_id,) = workers.process_ids
    os.kill(process_id, signal.SIGKILL)
    assert await workers.matches([HASH], SECRET) == [True]
    assert workers.process_ids != [process_id]
    assert workers.failed_workers == 1


async def test_a_password_is_checked_again_whose_process_is_killed_meanwhile(
    workers: PasswordWorkers,
) -> None:
    await workers.matches([HASH], SECRET)
    (process_id,) = workers.process_ids
    os.kill(process_id, signal.SIGSTOP)
    check = asyncio.create_task(workers.matches([HASH], SECRET))
    await asyncio.sleep(0)
    os.kill(process_id, signal.SIGKILL)
    assert await check == [True]
    assert workers.failed_workers == 1


async def test_terminating_signals_for_the_broker_do_not_end_its_checks(
    workers: PasswordWorkers,
) -> None:
    await workers.matches([HASH], SECRET)
    (process_id,) = workers.process_ids
    for number in (signal.SIGTERM, signal.SIGINT):
        os.kill(process_id, number)
    assert await workers.matches([HASH], SECRET) == [True]
    assert workers.process_ids == [process_id]


@pytest.mark.parametrize("command", [("/bin/false",), ("/nowhere/python",)])
async def test_without_a_process_nothing_is_known_of_a_password(
    workers: PasswordWorkers, monkeypatch: pytest.MonkeyPatch, command: tuple[str]
) -> None:
    monkeypatch.setattr(module, "COMMAND", command)
    with pytest.raises(WorkerFailed):
        await workers.matches([HASH], SECRET)
    assert workers.process_ids == []


async def test_a_process_that_does_not_answer_is_killed(
    workers: PasswordWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMMAND", ("/bin/sleep", "3600"))
    monkeypatch.setattr(module, "CHECK_SECONDS_MAX", 0.05)
    with pytest.raises(WorkerFailed, match="2 processes"):
        await workers.matches([HASH], SECRET)
    assert workers.process_ids == []
    assert workers.failed_workers == 2


async def test_a_process_whose_caller_is_cancelled_is_asked_no_more(
    workers: PasswordWorkers,
) -> None:
    await workers.matches([HASH], SECRET)
    (process_id,) = workers.process_ids
    check = asyncio.create_task(workers.matches([HASH], SECRET))
    await asyncio.sleep(0)
    check.cancel()
    with pytest.raises(asyncio.CancelledError):
        await check
    assert await workers.matches([HASH], b"wrong") == [False]
    assert process_id not in workers.process_ids


async def test_closing_ends_all_processes() -> None:
    made = PasswordWorkers()
    await asyncio.gather(*(made.matches([HASH], SECRET) for _ in range(2)))
    process_ids = made.process_ids
    made.close()
    for process_id in process_ids:
        await is_gone(process_id)
    assert made.process_ids == []
