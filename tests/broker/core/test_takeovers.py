"""Two devices with one client identifier are detected; a device that lost its network is not."""

import pytest

from gateway.broker.core import takeovers
from gateway.broker.core.recent import STEP_SECONDS, STEPS
from gateway.broker.core.takeovers import QUICK_SECONDS, SECONDS_BETWEEN_LINES, Takeovers, host_of
from gateway.broker.wire.packets import Connect
from tests.broker.core.harness import Harness

ONE, OTHER = "192.0.2.7:40000", "192.0.2.8:50000"


def exchanged(found: Takeovers, times: int, seconds: float, first: str, second: str) -> int:
    """Make two devices displace each other alternately; return the number of takeovers counted."""
    pair = (first, second)
    return sum(found.note("c", pair[n % 2], pair[(n + 1) % 2], n * seconds) for n in range(times))


@pytest.mark.parametrize("seconds", [0.25, 5.0, 45.0])
def test_devices_that_displace_each_other_are_found_with_both_addresses(seconds: float) -> None:
    found = Takeovers()
    assert exchanged(found, 157, seconds, ONE, OTHER) == 157
    (shared,) = found.largest(10)
    assert (shared.client_id, shared.addresses) == ("c", (ONE, OTHER))


def test_devices_at_one_address_are_found_where_they_are_quick() -> None:
    assert exchanged(Takeovers(), 20, 0.25, "10.0.0.1:1", "10.0.0.1:2") == 20
    assert exchanged(Takeovers(), 20, QUICK_SECONDS + 1, "10.0.0.1:1", "10.0.0.1:2") == 0


def test_a_device_that_loses_its_network_and_connects_again_is_not_found() -> None:
    found = Takeovers()
    for number in range(50):
        assert found.note("c", f"10.0.0.1:{number}", f"10.0.0.1:{number + 1}", number * 30.0) == 0
    assert found.note("moved", "10.0.0.1:1", "172.16.0.1:1", 1.0) == 0
    assert found.note("moved", "172.16.0.1:1", "10.0.0.1:2", 2.0) == 0
    assert found.largest(10) == []
    assert found.take(10_000.0, 10) == []


def test_a_line_a_minute_names_the_client_both_addresses_and_the_fix() -> None:
    found = Takeovers()
    exchanged(found, 20, 0.1, ONE, OTHER)
    ((line, client_id),) = found.take(10.0, 10)
    assert client_id == "c"
    assert line == (
        "client 'c': two devices with this client id, at 192.0.2.8:50000 and 192.0.2.7:40000, "
        "disconnected each other 20 times; give each device a client id of its own"
    )
    exchanged(found, 3, 0.1, ONE, OTHER)
    assert found.take(11.0, 10) == []
    ((line, _),) = found.take(10.0 + SECONDS_BETWEEN_LINES, 10)
    assert "3 times" in line


def test_what_is_over_is_forgotten_after_an_hour() -> None:
    found = Takeovers()
    exchanged(found, 20, 0.1, ONE, OTHER)
    found.take(10.0, 10)
    found.take(10.0 + STEP_SECONDS * (STEPS + 2), 10)
    assert found.largest(10) == []


def test_identifiers_beyond_the_limit_are_not_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(takeovers, "CLIENTS_MAX", 1)
    found = Takeovers()
    found.note("first", ONE, OTHER, 0.0)
    assert exchanged(found, 20, 0.1, ONE, OTHER) == 0


@pytest.mark.parametrize(
    ("address", "host"),
    [(ONE, "192.0.2.7"), ("[2001:db8::1]:1883", "[2001:db8::1]"), ("local", "local"), ("", "")],
)
def test_the_host_of_an_address(address: str, host: str) -> None:
    assert host_of(address) == host


def test_takeovers_in_the_broker_are_counted(harness: Harness) -> None:
    for _ in range(8):
        client = harness.open_connection()
        client.send(Connect(4, "c", True, 0, None, None, None))
        harness.commit()
    assert harness.broker.statistics.errors == {"client_id_shared": 7}
