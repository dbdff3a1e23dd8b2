"""Lookup of an address in a set of networks."""

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.server.listeners.banned_networks import BannedNetworks, network_of

NETWORKS = st.one_of(
    st.tuples(st.ip_addresses(v=4), st.integers(0, 32)),
    st.tuples(st.ip_addresses(v=6), st.integers(0, 128)),
).map(lambda pair: ipaddress.ip_network(pair, strict=False))


def test_an_address_of_a_network_is_found_and_others_are_not() -> None:
    banned = BannedNetworks([network_of("192.0.2.0/24"), network_of("2001:db8::/64")])
    assert banned
    assert ipaddress.ip_address("192.0.2.255") in banned
    assert ipaddress.ip_address("192.0.3.0") not in banned
    assert ipaddress.ip_address("2001:db8::ffff") in banned
    assert ipaddress.ip_address("::192.0.2.1") not in banned
    assert not BannedNetworks([])


@given(st.lists(NETWORKS, max_size=5), st.ip_addresses())
def test_it_answers_as_the_networks_themselves(
    networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network],
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    expected = any(address in network for network in networks)
    assert (address in BannedNetworks(networks)) is expected
