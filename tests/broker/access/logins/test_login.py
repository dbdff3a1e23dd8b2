"""The origin of a login: which addresses count as one."""

import pytest

from gateway.broker.access.logins.login import Login, host_of, origin_of


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("192.0.2.7:40000", "192.0.2.7"),
        ("[2001:db8:1:2:3:4:5:6]:40000", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2:ffff::1]:40001", "2001:db8:1:2::/64"),
        ("[::ffff:192.0.2.7]:1", "192.0.2.7"),
        ("[fe80::1%eth0]:1", "fe80::/64"),
        ("127.0.0.1:1", "loopback"),
        ("127.8.8.8:1", "loopback"),
        ("[::1]:1", "loopback"),
        ("local", "local"),
        ("@abstract", "local"),
        ("/run/a:80", "local"),
        ("", "local"),
    ],
)
def test_who_has_one_address_of_a_network_is_one_origin(address: str, origin: str) -> None:
    assert origin_of(address) == origin
    assert Login("a", b"b", address=address).origin == origin


def test_the_host_is_what_stands_before_the_port() -> None:
    assert host_of("192.0.2.7:1883") == "192.0.2.7"
    assert host_of("[2001:db8::1]:1883") == "2001:db8::1"
    assert host_of("/run/client.sock") == ""


def test_a_password_is_not_shown_with_its_login() -> None:
    assert "secret" not in repr(Login("alice", b"secret"))


def test_an_exchange_names_its_user_later() -> None:
    login = Login("", b"x", "id", "listener", "192.0.2.7:1", "certificate")
    named = login.of("alice")
    assert (named.username, named.password) == ("alice", None)
    assert (named.client_id, named.listener, named.certificate) == ("id", "listener", "certificate")
