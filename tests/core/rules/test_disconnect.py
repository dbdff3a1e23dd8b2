"""When a session ends that nobody came back for (5.0 sections 3.1.2.11.2 and 3.14.2.2.2)."""

from pathlib import Path

import pytest

from gateway.core.limits import Limits
from gateway.wire.packets import Disconnect
from tests.core.harness import Client, Harness
from tests.core.mqtt5 import connect, properties


def disconnect(harness: Harness, client: Client, expiry: int | None) -> None:
    """Disconnect, with a session expiry interval where one is given, without a commit."""
    values = {} if expiry is None else {"session_expiry_interval_seconds": expiry}
    client.send(Disconnect(0, properties(**values)))
    harness.flush()


@pytest.mark.parametrize("expiry", [0, 10, 1_000])
def test_a_disconnect_that_changes_the_session_expiry_closes_when_the_change_is_on_disk(
    harness: Harness, expiry: int
) -> None:
    client = connect(harness, "c", expiry=100)
    disconnect(harness, client, expiry)
    assert not client.connection.closing
    harness.commit()
    assert client.connection.closing
    harness.cut()
    assert ("c" in harness.broker.state.sessions) is (expiry > 0)
    if expiry:
        assert harness.session("c").expiry_seconds == expiry


def test_a_disconnect_that_changes_nothing_closes_at_once(harness: Harness) -> None:
    client = connect(harness, "c", expiry=100)
    disconnect(harness, client, None)
    assert client.connection.closing


@pytest.mark.parametrize("how", ["connect", "disconnect"])
def test_a_shorter_session_expiry_counts_while_the_timer_of_a_longer_one_runs(
    harness: Harness, how: str
) -> None:
    harness.lose(connect(harness, "c", expiry=1_000))
    harness.advance(10)
    if how == "connect":
        harness.lose(connect(harness, "c", expiry=20))
    else:
        disconnect(harness, connect(harness, "c", expiry=1_000), 20)
    harness.advance(19)
    assert "c" in harness.broker.state.sessions
    harness.advance(1)
    assert "c" not in harness.broker.state.sessions


def test_a_longer_session_expiry_counts_while_the_timer_of_a_shorter_one_runs(
    harness: Harness,
) -> None:
    for expiry in (50, 20, 1_000):
        harness.lose(connect(harness, "c", expiry=expiry))
        harness.advance(10)
    harness.advance(989)
    assert "c" in harness.broker.state.sessions
    harness.advance(1)
    assert "c" not in harness.broker.state.sessions


def test_a_client_that_comes_and_goes_has_one_timer(harness: Harness) -> None:
    harness.lose(connect(harness, "c", expiry=1_000))
    count = len(harness.broker.timers.heap)
    harness.advance(20)  # the time in which a CONNECT has to come is over
    for _ in range(5):
        harness.lose(connect(harness, "c", expiry=1_000))
        harness.advance(20)
    assert len(harness.broker.timers.heap) <= count


def test_a_shorter_max_session_expiry_counts_for_sessions_that_wait_already(
    tmp_path: Path,
) -> None:
    limits = Limits()
    harness = Harness(tmp_path, limits)
    harness.lose(connect(harness, "c"))
    harness.advance(10)
    limits.max_session_expiry_seconds = 60.0
    harness.broker.limits_changed(harness.now)
    harness.advance(49)
    assert "c" in harness.broker.state.sessions
    harness.advance(1)
    assert "c" not in harness.broker.state.sessions
    harness.close()
