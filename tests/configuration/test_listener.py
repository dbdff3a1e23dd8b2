"""`[[listeners]]`: addresses, and the clients that can reach them."""

from pathlib import Path
from typing import Any

import pytest

from gateway.cli.supervision.up import environment_of
from gateway.configuration import ConfigurationError, Listener, load
from gateway.configuration.listener import ends_connections, paired

TLS = {"certificate": "server.pem", "key": "server.key"}


def test_listeners_that_were_written_out_are_read_again_as_they_were(file: Path) -> None:
    file.write_text(
        "[[listeners]]\n[[listeners]]\nprotocol = 'websocket'\norigins = ['HTTPS://A.example']\n"
        "[[listeners]]\nprotocol = 'unix'\npath = 'mqtt.sock'\nmax_connections = 3\n"
    )
    configuration = load(file, {}, {}, None)
    written = environment_of(configuration, {})["ONCEGATE_LISTENERS"]
    again = load(None, {"ONCEGATE_LISTENERS": written}, {}, None)
    assert again.listeners == configuration.listeners
    assert again.listeners[1].origins == ("https://a.example",)


@pytest.mark.parametrize(
    ("listener", "reached", "is_plain", "place"),
    [
        (Listener(), False, True, "127.0.0.1 port 1883"),
        (Listener(bind="::", port=7), True, True, ":: port 7"),
        (Listener(protocol="websocket"), False, False, "127.0.0.1 port 1883"),
        (Listener(protocol="unix", path=Path("/run/x")), False, False, "/run/x"),
        (Listener(proxy_protocol=True), True, False, "127.0.0.1 port 1883"),
        (
            Listener(protocol="unix", path=Path("/run/x"), proxy_protocol=True),
            True,
            False,
            "/run/x",
        ),
    ],
)
def test_a_listener_knows_where_it_is_and_who_reaches_it(
    listener: Listener, reached: bool, is_plain: bool, place: str
) -> None:
    assert listener.is_reached_from_network is reached
    assert listener.is_plain is is_plain
    assert listener.place == place


def test_a_websocket_listener_has_a_port_of_its_own_unless_it_is_given(file: Path) -> None:
    file.write_text(
        "[[listeners]]\n[[listeners]]\nprotocol = 'websocket'\n"
        "[[listeners]]\nprotocol = 'websocket'\nport = 80\n"
    )
    assert [each.port for each in load(file, {}, {}, None).listeners] == [1883, 8083, 80]


def test_anonymous_clients_from_the_network_have_to_be_allowed_explicitly(
    file: Path,
) -> None:
    file.write_text("[[listeners]]\nbind = '0.0.0.0'\n")
    with pytest.raises(ConfigurationError, match="allow_anonymous_network = true opens it"):
        load(file, {}, {}, None)
    file.write_text("[[listeners]]\nbind = '0.0.0.0'\nallow_anonymous_network = true\n")
    assert load(file, {}, {}, None).listeners[0].is_reached_from_network


def test_listeners_are_the_same_at_the_same_address_and_in_their_order_with_port_0() -> None:
    first, second = Listener(port=0), Listener(port=0)
    other, gone = Listener(port=1884), Listener(port=1885)
    pairs = paired([first, second, other, gone], [Listener(port=1884), Listener(port=0)])
    assert [old is expected for (old, _), expected in zip(pairs, (other, first), strict=False)]
    assert pairs[2:] == [(second, None), (gone, None)]
    assert pairs[2][0] is second


@pytest.mark.parametrize(
    ("before", "after", "ends"),
    [
        ({}, {"max_connections": 5}, False),
        ({}, {"anonymous": False}, True),
        ({"anonymous": False}, {}, False),
        ({"name": "a"}, {"name": "b"}, True),
        ({}, {"protocol": "websocket", "port": 1883}, True),
        ({}, {"tls": TLS}, True),
        ({"tls": TLS}, {"tls": TLS | {"min_version": "1.3"}}, False),
        ({"tls": TLS}, {"tls": TLS | {"ca": "ca", "client_certificates": "required"}}, True),
    ],
)
def test_connections_end_where_clients_prove_in_another_way_who_they_are(
    before: dict[str, Any], after: dict[str, Any], *, ends: bool
) -> None:
    first, second = (
        load(
            None,
            {},
            {"listeners": [{"port": 1883} | each, {"port": 0}], "access.password_file": "users"},
            None,
        ).listeners[0]
        for each in (before, after)
    )
    assert ends_connections(first, second) is ends


def test_listeners_with_port_0_are_distinguished_by_their_names() -> None:
    first, second = Listener(port=0, name="a"), Listener(port=0, name="b")
    pairs = paired([first, second], [Listener(port=0, name="b")])
    assert pairs[0][0] is second
    assert pairs[1][0] is first


def test_no_two_listeners_are_called_alike() -> None:
    named = [{"name": "127.0.0.1", "port": 0}, {"name": "a", "port": 1884}]
    load(None, {}, {"listeners": named}, None)
    with pytest.raises(ConfigurationError, match='is called "a", not several'):
        load(None, {}, {"listeners": [*named, {"name": "a", "port": 0}]}, None)
    with pytest.raises(ConfigurationError, match="use 1 to 64 letters"):
        load(None, {}, {"listeners": [{"name": "a b", "port": 0}]}, None)
