"""The login rate: how often the clients of one user may connect."""

import pytest

from gateway.broker.core import login_rates
from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.core.login_rates import LoginRates
from gateway.broker.core.quota import Quota
from gateway.broker.core.sessions.owner import Owner
from gateway.broker.wire.packets import Connack, Connect
from tests.broker.core.harness import Client, Harness
from tests.broker.core.mqtt5 import connack_of
from tests.broker.core.owned import limit, log_in

BURST = int(login_rates.BURST_SECONDS)


def log_in_often(harness: Harness, username: str, count: int = BURST) -> None:
    for _ in range(count):
        client = log_in(harness, username, "c", clean=True)
        assert connack_of(client).reason_code == 0
        harness.lose(client)


def named(harness: Harness, username: str, version: int = 5) -> Client:
    """Send a CONNECT with a password that has not been checked yet."""
    harness.broker.core.authenticates = True
    client = harness.open_connection(version)
    client.send(Connect(version, "c", True, 0, None, username, b"guessed"))
    return client


def refuse_all(harness: Harness) -> int:
    """Refuse every password that waits for its check; return how many there were."""
    requests = harness.broker.effects.take_logins()
    for request in requests:
        answer = AuthenticationAnswer(0x86, None, None)
        harness.broker.authenticated(request.connection, answer, harness.now)
    harness.commit()
    return len(requests)


def test_a_user_logs_in_no_more_often_than_its_rate_and_others_are_not_concerned(
    harness: Harness,
) -> None:
    limit(harness, "ann", login_rate=1)
    log_in_often(harness, "ann")
    refused = log_in(harness, "ann", "c", clean=True)
    assert refused.take() == [Connack(False, 0x9F)]
    assert refused.closed
    assert harness.broker.statistics.errors == {"user_login_rate": 1}
    log_in_often(harness, "ben", 2 * BURST)
    harness.now += 1.5
    log_in_often(harness, "ann", 1)
    assert log_in(harness, "ann", "c", clean=True, version=4).take() == [Connack(False, 3)]


def test_a_login_beyond_the_rate_is_refused_before_its_password_is_checked(
    harness: Harness,
) -> None:
    limit(harness, "ann", login_rate=1)
    log_in_often(harness, "ann")
    client = named(harness, "ann")
    assert refuse_all(harness) == 0
    assert client.take() == [Connack(False, 0x9F)]
    named(harness, "ben")
    assert refuse_all(harness) == 1


def test_wrong_passwords_use_nothing_up(harness: Harness) -> None:
    limit(harness, "ann", login_rate=1)
    for _ in range(2 * BURST):
        named(harness, "ann")
        assert refuse_all(harness) == 1
    log_in_often(harness, "ann")


def test_logins_that_are_checked_at_one_time_count_each(harness: Harness) -> None:
    limit(harness, "ann", login_rate=1)
    clients = [named(harness, "ann") for _ in range(BURST + 2)]
    for request in harness.broker.effects.take_logins():
        answer = AuthenticationAnswer(0, None, "ann")
        harness.broker.authenticated(request.connection, answer, harness.now)
    harness.commit()
    codes = [connack_of(client).reason_code for client in clients]
    assert codes == [0] * BURST + [0x9F] * 2


def test_a_client_that_is_connected_stays_when_its_successor_comes_too_soon(
    harness: Harness,
) -> None:
    limit(harness, "ann", login_rate=1)
    log_in_often(harness, "ann", BURST - 1)
    first = log_in(harness, "ann", "c")
    assert connack_of(log_in(harness, "ann", "c")).reason_code == 0x9F
    assert not first.closed


def test_another_rate_counts_from_the_reload_on(harness: Harness) -> None:
    limit(harness, "ann", login_rate=1)
    log_in_often(harness, "ann")
    limit(harness, "ann", login_rate=2)
    log_in_often(harness, "ann", 2 * BURST)
    assert connack_of(log_in(harness, "ann", "c", clean=True)).reason_code == 0x9F
    limit(harness, "ann")
    log_in_often(harness, "ann", 2 * BURST)


def test_users_that_are_remembered_are_bounded_and_the_oldest_goes(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_rates, "USERS_MAX", 2)
    quota = Quota()
    quota.login_rate = 1
    for name in "abc":
        limit(harness, name, login_rate=1)
    rates = LoginRates(harness.limits)

    def spend(name: str) -> None:
        for _ in range(BURST):
            rates.take(Owner(name, quota), 0.0)

    for name in "ab":
        spend(name)
    assert rates.take(Owner("a", quota), 0.0) == "user_login_rate"
    spend("c")
    assert [bool(rates.limit_exceeded_by_login(name, 0.0)) for name in "abc"] == [True, False, True]
