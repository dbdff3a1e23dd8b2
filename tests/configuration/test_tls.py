"""`tls = { ... }` of a listener: the files that it needs, and the default port that follows."""

from pathlib import Path

import pytest

from gateway.cli.supervision.up import environment_of
from gateway.configuration import ConfigurationError, load
from gateway.configuration.tls import Tls

FILES = "certificate = 'c.pem', key = 'c.key'"
PLAIN = "[[listeners]]\n"


def test_with_tls_a_listener_has_the_port_of_that_unless_it_is_given(file: Path) -> None:
    file.write_text(
        f"{PLAIN}[[listeners]]\ntls = {{ {FILES} }}\n"
        f"[[listeners]]\nprotocol = 'websocket'\ntls = {{ {FILES} }}\n"
        f"[[listeners]]\nport = 443\nprotocol = 'websocket'\ntls = {{ {FILES} }}\n"
    )
    assert [each.port for each in load(file, {}, {}, None).listeners] == [1883, 8883, 8084, 443]


def test_a_table_that_was_written_out_is_read_again_as_it_was(file: Path) -> None:
    file.write_text(
        f"{PLAIN}[[listeners]]\nport = 1\n[listeners.tls]\n"
        "certificate = 'c.pem'\nkey = 'c.key'\nca = 'ca.pem'\nclient_certificates = 'required'\n"
    )
    configuration = load(file, {}, {}, None)
    written = environment_of(configuration, {})["ONCEGATE_LISTENERS"]
    again = load(None, {"ONCEGATE_LISTENERS": written}, {}, None)
    assert again.listeners == configuration.listeners
    assert again.listeners[1].tls == Tls(
        certificate=Path("c.pem"),
        key=Path("c.key"),
        ca=Path("ca.pem"),
        client_certificates="required",
    )


@pytest.mark.parametrize(
    ("client_certificates", "username", "proves", "demands"),
    [
        ("none", "common_name", False, False),
        ("optional", "common_name", True, False),
        ("required", "email", True, True),
        ("required", "none", False, False),
    ],
)
def test_whom_certificates_prove(
    client_certificates: str, username: str, proves: bool, demands: bool
) -> None:
    tls = Tls(
        certificate=Path("c"),
        key=Path("k"),
        client_certificates=client_certificates,  # type: ignore[arg-type]
        username=username,  # type: ignore[arg-type]
    )
    assert (tls.proves_users, tls.demands_users) == (proves, demands)


def test_a_listener_that_demands_certificates_may_be_reached_without_passwords(file: Path) -> None:
    tls = f"tls = {{ {FILES}, ca = 'ca.pem', client_certificates = 'required' }}"
    file.write_text(
        f"{PLAIN}[[listeners]]\nbind = '0.0.0.0'\n{tls}\n"
        f"[[listeners]]\nbind = '0.0.0.0'\nport = 1\nanonymous = false\n{tls}\n"
    )
    assert [each.demands_users for each in load(file, {}, {}, None).listeners] == [
        False,
        True,
        True,
    ]


def test_tls_of_the_bridge_wants_the_broker_whose_name_is_verified(file: Path) -> None:
    file.write_text("[bridge]\ntls = { ca = 'ca.pem' }\n")
    with pytest.raises(ConfigurationError, match="use broker with tls"):
        load(file, {}, {}, None)
    file.write_text("[bridge]\nbroker = 'gateway.example:8883'\ntls = { ca = 'ca.pem' }\n")
    tls = load(file, {}, {}, None).bridge.tls
    assert tls is not None
    assert (tls.ca, tls.certificate) == (Path("ca.pem"), None)
