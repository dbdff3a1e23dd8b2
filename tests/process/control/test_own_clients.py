"""Membership of an address in a network, which decides whether a ban affects our own clients."""

import pytest

from gateway.process.control.own_clients import is_in_network


@pytest.mark.parametrize(
    ("host", "network", "expected"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.9/8", True),
        ("::1", "::/0", True),
        ("127.0.0.1", "::/0", False),
        ("192.0.2.7", "127.0.0.0/8", False),
        ("broker.example", "127.0.0.0/8", False),
        ("", "127.0.0.0/8", False),
        ("127.0.0.1", "no network", False),
    ],
)
def test_an_address_is_in_a_network_or_one_of_them_is_none(
    host: str, network: str, expected: bool
) -> None:
    assert is_in_network(host, network) is expected
