"""The next login to check: addresses alternate, known users go first, cancelled logins never."""

import asyncio

import pytest

import gateway.broker.access.logins.guesses as guesses_module
import gateway.broker.access.logins.turns as turns_module
from gateway.broker.access.logins.guesses import FREE_FAILURES, Guesses
from gateway.broker.access.logins.login import Login
from gateway.broker.access.logins.turns import Abandoned, Busy, Turns

GUESSER, HOME = "192.0.2.66:1", "192.0.2.7:1"


class Line:
    """Logins that wait for their turn, and the order in which their turns came."""

    def __init__(self, places: int = 1) -> None:
        self.guesses = Guesses()
        self.turns = Turns(self.guesses, places)
        self.began: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._running: list[Login] = []

    def add(self, name: str, address: str = HOME, user: str = "anna") -> asyncio.Task[None]:
        task = asyncio.create_task(self._wait(Login(user, b"", name, address=address)))
        self.tasks.append(task)
        return task

    async def _wait(self, login: Login) -> None:
        await self.turns.begin(login)
        self.began.append(login.client_id)
        self._running.append(login)

    async def settle(self) -> None:
        """Run the event loop until no further login can begin without a free place."""
        for _ in range(5):
            await asyncio.sleep(0)

    async def run_all(self) -> list[str]:
        """Free one place after another until no login waits; return the names in their order."""
        await self.settle()
        while self._running:
            self.turns.end(self._running.pop(0))
            await self.settle()
        return self.began

    def fail(self, address: str, count: int) -> None:
        now = asyncio.get_running_loop().time()
        for number in range(count):
            keys = self.guesses.keys_of(Login("", address=address).origin, f"guess {number}")
            self.guesses.record_failure(keys, b"x", now)


async def test_each_address_has_its_turn_however_many_wait_at_another() -> None:
    line = Line()
    for number in range(100):
        line.add(f"guess {number}", GUESSER)
    line.add("honest")
    assert (await line.run_all()).index("honest") <= 2
    assert len(line.began) == 101
    assert line.turns.waiting == 0


async def test_within_an_address_each_user_has_its_turn() -> None:
    line = Line()
    for number in range(10):
        line.add(f"ben {number}", user="ben")
    line.add("anna", user="anna")
    assert (await line.run_all()).index("anna") <= 2


async def test_a_user_that_is_known_at_its_address_comes_before_all_others() -> None:
    line = Line()
    line.guesses.record_success(line.guesses.keys_of("192.0.2.7", "anna"))
    for number in range(50):
        line.add(f"guess {number}", f"198.51.100.{number}:1")
    line.add("anna")
    assert (await line.run_all())[1] == "anna"


async def test_an_address_with_failures_has_one_place_and_leaves_the_others() -> None:
    line = Line(places=2)
    line.fail(GUESSER, 1)
    for number in range(3):
        line.add(f"guess {number}", GUESSER)
    await line.settle()
    assert line.began == ["guess 0"]
    line.add("honest")
    await line.settle()
    assert line.began == ["guess 0", "honest"]
    await line.run_all()


async def test_an_address_that_guessed_pauses_and_is_counted_as_delayed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guesses_module, "DELAY_SECONDS_FIRST", 0.05)
    line = Line()
    began_at = asyncio.get_running_loop().time()
    line.fail(GUESSER, FREE_FAILURES + 1)
    task = line.add("guess", GUESSER)
    line.add("honest")
    await line.settle()
    assert line.began == ["honest"]
    assert line.turns.delayed == 1
    await line.run_all()
    await task
    assert asyncio.get_running_loop().time() - began_at >= 0.04
    await line.run_all()


async def test_a_client_that_is_gone_takes_no_turn() -> None:
    line = Line()
    line.add("first")
    await line.settle()
    gone = asyncio.create_task(
        line.turns.begin(Login("anna", b"", address=HOME, is_wanted=lambda: False))
    )
    line.add("last")
    assert await line.run_all() == ["first", "last"]
    with pytest.raises(Abandoned):
        await gone


async def test_with_too_many_the_newest_of_the_largest_address_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns_module, "WAITING_MAX", 4)
    line = Line()
    tasks = [line.add(f"guess {number}", GUESSER) for number in range(5)]
    await line.settle()
    honest = line.add("honest")
    await line.settle()
    assert [isinstance(task.done() and task.exception(), Busy) for task in tasks] == [
        False,
        False,
        False,
        False,
        True,
    ]
    assert not honest.done()
    assert line.turns.waiting == 4
    assert "honest" in await line.run_all()


async def test_who_is_gone_makes_room_before_anyone_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns_module, "WAITING_MAX", 1)
    line = Line()
    line.add("first")
    await line.settle()
    is_there = True
    gone = asyncio.create_task(
        line.turns.begin(Login("anna", b"", address=HOME, is_wanted=lambda: is_there))
    )
    await line.settle()
    is_there = False
    line.add("next")
    assert await line.run_all() == ["first", "next"]
    with pytest.raises(Abandoned):
        await gone


async def test_a_task_that_is_cancelled_while_it_waits_takes_no_turn() -> None:
    line = Line()
    line.add("first")
    await line.settle()
    cancelled = line.add("cancelled")
    await line.settle()
    cancelled.cancel()
    line.add("last")
    assert await line.run_all() == ["first", "last"]


async def test_a_turn_that_came_to_a_cancelled_task_is_given_on() -> None:
    line = Line()
    first = Login("anna", b"", address=HOME)
    await line.turns.begin(first)
    cancelled = line.add("cancelled")
    await line.settle()
    line.turns.end(first)  # the turn goes to the second login, whose task is cancelled first
    cancelled.cancel()
    line.add("last")
    assert await line.run_all() == ["last"]


async def test_what_is_stopped_begins_nothing() -> None:
    line = Line()
    line.turns.stop()
    task = line.add("late")
    await line.settle()
    assert line.began == []
    task.cancel()
