"""Checks of passwords in threads: scheduled fairly, limited in number, and cached."""

import asyncio
import gc
import threading

import pytest

from gateway.broker.access.logins.checks import PASSWORD_CHECKS_MAX, Checks
from gateway.broker.access.logins.guesses import Guesses
from gateway.broker.access.logins.login import Login
from gateway.broker.core.effects import AuthenticationAnswer

ANNA = Login("anna", b"secret", address="192.0.2.7:1")


async def test_no_more_are_checked_than_there_are_places_and_the_loop_goes_on() -> None:
    checks = Checks(Guesses())
    may_end = threading.Event()
    running: list[int] = []

    def check(number: int) -> int:
        running.append(number)
        assert may_end.wait(10)
        return number

    tasks = [asyncio.create_task(checks.run(ANNA, check, number)) for number in range(5)]
    while len(running) < PASSWORD_CHECKS_MAX:  # noqa: ASYNC110 - threads have no event of the loop
        await asyncio.sleep(0.001)
    assert checks.waiting == 5 - PASSWORD_CHECKS_MAX
    may_end.set()
    assert await asyncio.gather(*tasks) == list(range(5))
    assert checks.waiting == checks.delayed == 0
    checks.close()


async def test_what_is_answered_counts_for_who_guesses_and_who_is_known() -> None:
    checks = Checks(Guesses())
    keys = checks.guesses.keys_of(ANNA.origin, "anna")
    checks.remember(ANNA, AuthenticationAnswer(0x89, None, None))
    assert not checks.guesses.is_suspect(keys)
    checks.remember(ANNA, AuthenticationAnswer(0x86, None, None))
    assert checks.guesses.is_suspect(keys)
    assert not checks.guesses.is_known(keys)
    checks.remember(ANNA, AuthenticationAnswer(0, None, "ben"))
    assert not checks.guesses.is_known(keys), "it is another user who has proven something"
    checks.remember(ANNA, AuthenticationAnswer(0, None, "anna"))
    assert checks.guesses.is_known(keys)
    checks.close()


async def test_a_check_that_fails_leaves_nothing_for_the_garbage_collector() -> None:
    checks = Checks(Guesses())

    def refuse() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await checks.run(ANNA, refuse)
    gc.collect()
    for _ in range(3):
        with pytest.raises(LookupError):
            await checks.run(ANNA, refuse)
    await asyncio.sleep(0)  # the loop still refers to finished handles
    assert gc.collect() == 0
    checks.close()
