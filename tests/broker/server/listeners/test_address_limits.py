"""Limits per address for open connections and for the rate of new ones, without sockets."""

from ipaddress import ip_network

import pytest

from gateway.broker.core.statistics import Statistics
from gateway.broker.server.listeners import address_limits
from gateway.broker.server.listeners.address_limits import (
    CONNECTIONS_REFUSED,
    RATE_REFUSED,
    AddressLimits,
    AddressSettings,
    address_in,
    address_of,
    address_settings_of,
    key_of,
)
from gateway.broker.server.listeners.banned_networks import Network
from gateway.configuration import load


def limits_of(connections_max: int = 0, rate: int = 0, *exempt: str) -> AddressLimits:
    networks: tuple[Network, ...] = tuple(ip_network(each) for each in exempt)
    return AddressLimits(Statistics(), AddressSettings(connections_max, rate, networks))


def test_connections_of_one_address_are_counted_until_they_are_gone() -> None:
    limits = limits_of(2)
    address = address_of("192.0.2.7")
    entered = [limits.enter(address, 0.0) for _ in range(3)]
    assert [refusal for refusal, _ in entered] == ["", "", CONNECTIONS_REFUSED]
    assert limits.enter(address_of("192.0.2.8"), 0.0)[0] == ""
    limits.leave(entered[0][1], 1.0)
    assert limits.enter(address, 1.0)[0] == ""
    assert limits.enter(address, 1.0)[0] == CONNECTIONS_REFUSED


def test_an_address_may_bring_ten_seconds_worth_together_and_then_its_rate() -> None:
    limits = limits_of(0, 2)
    address = address_of("192.0.2.7")
    refusals = [limits.enter(address, 0.0)[0] for _ in range(21)]
    assert refusals == 20 * [""] + [RATE_REFUSED]
    assert [limits.enter(address, 1.0)[0] for _ in range(3)] == ["", "", RATE_REFUSED]


def test_addresses_of_one_64_count_together_and_link_local_ones_for_themselves() -> None:
    limits = limits_of(1)
    assert limits.enter(address_of("2001:db8::1"), 0.0)[0] == ""
    assert limits.enter(address_of("2001:db8::ffff:2"), 0.0)[0] == CONNECTIONS_REFUSED
    assert limits.enter(address_of("2001:db8:0:1::1"), 0.0)[0] == ""
    assert limits.enter(address_of("fe80::1%eth0"), 0.0)[0] == ""
    assert limits.enter(address_of("fe80::2%eth0"), 0.0)[0] == ""
    address = address_of("2001:db8::1")
    assert address is not None
    assert key_of(address) == "2001:db8::/64"


def test_an_address_of_ipv4_is_one_however_the_kernel_shows_it() -> None:
    limits = limits_of(1)
    assert limits.enter(address_of("192.0.2.7"), 0.0)[0] == ""
    assert limits.enter(address_of("::ffff:192.0.2.7"), 0.0)[0] == CONNECTIONS_REFUSED


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "10.1.2.3", "2001:db8:1::5"])
def test_loopback_and_the_networks_that_are_named_are_exempt(host: str) -> None:
    limits = limits_of(1, 1, "10.0.0.0/8", "2001:db8:1::/48")
    assert [limits.enter(address_of(host), 0.0) for _ in range(50)] == 50 * [("", "")]


def test_a_unix_socket_has_no_address_to_count() -> None:
    assert address_in("local") is None
    assert address_in("/run/x.sock") is None
    assert str(address_in("[2001:db8::7]:40000")) == "2001:db8::7"
    assert str(address_in("192.0.2.7:1")) == "192.0.2.7"
    assert limits_of(1, 1).enter(None, 0.0) == ("", "")


def test_addresses_that_are_remembered_are_bounded_and_those_with_connections_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(address_limits, "ENTRIES_MAX", 10)
    limits = limits_of(1, 1)
    assert limits.enter(address_of("192.0.2.7"), 0.0)[0] == ""
    for number in range(1_000):
        _, key = limits.enter(address_of(f"10.0.{number // 250}.{number % 250}"), 0.0)
        limits.leave(key, 0.0)
        assert len(limits._entries) <= 11
    assert limits.enter(address_of("192.0.2.7"), 0.0)[0] == CONNECTIONS_REFUSED


def test_an_address_that_was_quiet_for_long_enough_is_forgotten_when_it_leaves() -> None:
    limits = limits_of(5, 10)
    _, key = limits.enter(address_of("192.0.2.7"), 0.0)
    limits.leave(key, 60.0)
    assert not limits._entries


def test_the_log_has_a_line_a_minute_about_an_address() -> None:
    statistics = Statistics()
    limits = AddressLimits(statistics, AddressSettings(1, 0))
    for now in (0.0, 0.1, 1.0, 59.0, 61.0):
        limits.enter(address_of("192.0.2.7"), now)
    assert [sentence for sentence, _ in statistics.notices] == [
        "1 connections from 192.0.2.7 refused: max_connections_per_address reached",
        "3 connections from 192.0.2.7 refused: max_connections_per_address reached",
    ]


def test_other_settings_hold_for_the_next_connection() -> None:
    limits = limits_of(1, 1)
    address = address_of("192.0.2.7")
    limits.enter(address, 0.0)
    assert limits.enter(address, 0.0)[0] == CONNECTIONS_REFUSED
    limits.replace_settings(AddressSettings(3, 100), 0.0)
    assert [limits.enter(address, 0.0)[0] for _ in range(3)] == ["", "", CONNECTIONS_REFUSED]


def test_by_default_an_address_has_half_of_all_connections() -> None:
    settings = address_settings_of(load(None, {}, {"mqtt.max_connections": 300}, None))
    assert (settings.connections_max, settings.rate, settings.exempt) == (150, 100, ())
    written = {
        "quotas.max_connections_per_address": 7,
        "quotas.max_connection_rate_per_address": 0,
        "quotas.exempt_addresses": ["10.0.0.0/8"],
    }
    settings = address_settings_of(load(None, {}, written, None))
    assert (settings.connections_max, settings.rate) == (7, 0)
    assert settings.exempt == (ip_network("10.0.0.0/8"),)
