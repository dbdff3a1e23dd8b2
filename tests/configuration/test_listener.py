"""`[[listeners]]`: an address, and who reaches it."""

from pathlib import Path

import pytest

from gateway.cli.up import environment_of
from gateway.configuration import ConfigurationError, Listener, load


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


def test_anonymous_clients_from_the_network_have_to_be_allowed_in_so_many_words(
    file: Path,
) -> None:
    file.write_text("[[listeners]]\nbind = '0.0.0.0'\n")
    with pytest.raises(ConfigurationError, match="allow_anonymous_network = true opens it"):
        load(file, {}, {}, None)
    file.write_text("[[listeners]]\nbind = '0.0.0.0'\nallow_anonymous_network = true\n")
    assert load(file, {}, {}, None).listeners[0].is_reached_from_network
