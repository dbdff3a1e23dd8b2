"""Delays after wrong passwords: which logins are delayed and for how long, on a simulated clock."""

import pytest

import gateway.broker.access.logins.guesses as guesses_module
from gateway.broker.access.logins.guesses import (
    DELAY_SECONDS_FIRST,
    FAILURES_OF_KNOWN_MAX,
    FREE_FAILURES,
    HALF_LIFE_SECONDS,
    ORIGIN_DELAY_SECONDS_MAX,
    USER_DELAY_SECONDS_MAX,
    Guesses,
    LoginKeys,
)

GUESSER, HOME = "192.0.2.66", "192.0.2.7"


def guess(guesses: Guesses, count: int, *, origin: str = GUESSER, user: str = "anna") -> LoginKeys:
    """Record this number of different wrong passwords, all at time 0."""
    keys = guesses.keys_of(origin, user)
    for number in range(count):
        guesses.record_failure(keys, b"guess %d" % number, 0.0)
    return keys


def test_a_few_mistakes_cost_nothing_and_then_each_doubles_the_delay() -> None:
    guesses = Guesses()
    keys = guess(guesses, FREE_FAILURES)
    assert guesses.free_at(keys) == 0.0
    delays = []
    for number in range(20):
        guesses.record_failure(keys, b"another %d" % number, 0.0)
        delays.append(guesses.free_at(keys))
    assert delays[:3] == [DELAY_SECONDS_FIRST, 2 * DELAY_SECONDS_FIRST, 4 * DELAY_SECONDS_FIRST]
    assert delays[-1] == ORIGIN_DELAY_SECONDS_MAX


def test_an_address_that_guesses_is_delayed_for_every_user_it_names() -> None:
    guesses = Guesses()
    for number in range(FREE_FAILURES + 1):
        guess(guesses, 1, user=f"user {number}")
    other = guesses.keys_of(GUESSER, "a new name")
    assert guesses.free_at(other) == DELAY_SECONDS_FIRST
    assert guesses.is_suspect(other)
    assert guesses.free_at(guesses.keys_of(HOME, "a new name")) == 0.0


def test_a_password_that_is_sent_again_and_again_delays_its_own_device_only() -> None:
    guesses = Guesses()
    device = guesses.keys_of(HOME, "old device")
    for _ in range(100):
        guesses.record_failure(device, b"the password before", 0.0)
    assert guesses.free_at(device) == ORIGIN_DELAY_SECONDS_MAX
    assert guesses.free_at(guesses.keys_of(HOME, "neighbour")) == 0.0
    assert guesses.user_wait_seconds(guesses.keys_of("198.51.100.1", "old device"), 0.0) == 0.0


def test_a_user_that_was_guessed_from_everywhere_waits_a_bounded_time() -> None:
    guesses = Guesses()
    for number in range(1_000):
        guess(guesses, 1, origin=f"198.51.100.{number}")
    anna = guesses.keys_of(HOME, "anna")
    assert guesses.user_wait_seconds(anna, 0.0) == USER_DELAY_SECONDS_MAX
    assert guesses.free_at(anna) == 0.0
    guesses.record_success(anna)
    assert guesses.user_wait_seconds(anna, 0.0) == 0.0, "a known pair waits for no stranger"


def test_a_known_pair_is_not_delayed_by_its_neighbours() -> None:
    guesses = Guesses()
    anna = guesses.keys_of(HOME, "anna")
    guesses.record_success(anna)
    guess(guesses, 100, origin=HOME, user="ben")
    assert guesses.free_at(anna) == 0.0
    assert guesses.free_at(guesses.keys_of(HOME, "carl")) == ORIGIN_DELAY_SECONDS_MAX


def test_a_pair_that_guesses_itself_is_known_no_more_and_known_again_when_right() -> None:
    guesses = Guesses()
    anna = guesses.keys_of(HOME, "anna")
    guesses.record_success(anna)
    guess(guesses, FAILURES_OF_KNOWN_MAX - 1, origin=HOME)
    assert guesses.is_known(anna)
    guess(guesses, 1, origin=HOME)
    assert not guesses.is_known(anna)
    guesses.record_success(anna)
    assert guesses.is_known(anna)


def test_failures_fade() -> None:
    guesses = Guesses()
    guess(guesses, 100)
    anna = guesses.keys_of(HOME, "anna")
    assert guesses.user_wait_seconds(anna, 0.0) == 0.0, "one address delays no other"
    for number in range(4 * FREE_FAILURES):
        guess(guesses, 1, origin=f"198.51.100.{number}")
    assert guesses.user_wait_seconds(anna, 0.0) == USER_DELAY_SECONDS_MAX
    assert guesses.user_wait_seconds(anna, 3 * HALF_LIFE_SECONDS) == 0.0


def test_the_tables_are_bounded_and_keep_who_failed_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guesses_module, "REMEMBERED_MAX", 10)
    monkeypatch.setattr(guesses_module, "KNOWN_MAX", 10)
    guesses = Guesses()
    for number in range(30):
        keys = guess(guesses, 1, user="x" * 65_535 + str(number))
    assert guesses.free_at(keys) == ORIGIN_DELAY_SECONDS_MAX, "new names do not wash it away"
    assert [len(each) for each in guesses.tables] == [1, 10, 10]
    first = guesses.keys_of(HOME, "0")
    for number in range(11):
        guesses.record_success(guesses.keys_of(HOME, str(number)))
    assert not guesses.is_known(first)
    assert guesses.is_known(guesses.keys_of(HOME, "10"))
