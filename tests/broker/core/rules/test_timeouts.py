"""Timers that are due: silent clients, slow readers, and sessions whose clients left."""

from pathlib import Path

import pytest

from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.core.limits import SLOW_READER_SECONDS, Limits
from gateway.broker.wire.packets import Connack, Connect
from tests.broker.core.harness import Harness


@pytest.mark.parametrize(("version", "code"), [(4, 3), (5, 0x89)])
def test_a_client_whose_login_is_not_checked_in_time_is_answered_that_it_may_try_again(
    harness: Harness, version: int, code: int
) -> None:
    harness.broker.core.authenticates = True
    client = harness.open_connection(version)
    client.send(Connect(version, "c", True, 0, None, "user", b"password"))
    harness.advance(harness.broker.limits.connect_timeout_seconds + 0.1)
    assert client.take() == [Connack(False, code)]
    assert client.closed
    assert harness.broker.statistics.errors == {"connect_timeout": 1}
    late = AuthenticationAnswer(0, None, "user")
    harness.broker.authenticated(client.connection, late, harness.now)
    harness.commit()
    assert client.take() == []
    assert not harness.broker.state.sessions


def test_a_client_that_falls_silent_while_its_password_is_checked_is_still_watched(
    harness: Harness,
) -> None:
    harness.broker.core.authenticates = True
    client = harness.open_connection()
    client.send(Connect(4, "c", False, 1, None, "user", b"password"))
    harness.now += 5  # the password waits in a queue of checks
    harness.broker.authenticated(client.connection, AuthenticationAnswer(0, None, "u"), harness.now)
    harness.commit()
    assert not client.closed
    harness.advance(1.6)
    assert client.closed


def test_a_client_that_has_stopped_reading_is_closed_in_the_end(harness: Harness) -> None:
    client = harness.connect("c")
    for _ in range(3):
        harness.broker.set_writable(client.connection, False, harness.now)
        harness.advance(SLOW_READER_SECONDS - 1)
        harness.broker.set_writable(client.connection, True, harness.now)
    assert len(harness.broker.timers.heap) <= 2
    assert not client.closed
    harness.broker.set_writable(client.connection, False, harness.now)
    harness.advance(SLOW_READER_SECONDS - 1)
    assert not client.closed
    harness.advance(1)
    assert client.closed
    assert harness.broker.statistics.errors == {"slow_reader": 1}


def test_a_clock_that_jumps_by_years_ends_no_session(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_session_expiry_seconds = 3_600.0
    harness = Harness(tmp_path, limits)
    harness.lose(harness.connect("c"))
    harness.time_ms += 50 * 365 * 86_400_000  # the wall clock was set by a time server
    harness.advance(1_800)
    assert "c" in harness.broker.state.sessions
    harness.advance(1_801)
    assert "c" not in harness.broker.state.sessions
    harness.close()
