"""From a listener's configuration to what makes its connections."""

from pathlib import Path

import pytest

from gateway.configuration import Listener
from gateway.configuration.tls import Tls
from gateway.core.quota import NO_LIMIT
from gateway.core.sessions.connection import ConnectionShare
from gateway.server.listeners.making import policy_of, tls_files_of


@pytest.mark.parametrize(
    ("listener", "name"),
    [
        (Listener(name="plant", port=0), "plant"),
        (Listener(), "127.0.0.1:1883"),
        (Listener(bind="::1", port=1884), "::1:1884"),
        (Listener(protocol="unix", path=Path("/run/x")), "/run/x"),
    ],
)
def test_a_listener_is_called_as_it_is_configured(listener: Listener, name: str) -> None:
    assert listener.called == name


def test_limits_are_set_in_the_share_whose_connections_stay_counted() -> None:
    share = ConnectionShare(5)
    share.connections_open = 3
    policy = policy_of(Listener(max_packet_rate=7), share)
    assert policy.share is share
    assert (share.connections_max, share.packet_rate, share.byte_rate) == (NO_LIMIT, 7, 0)
    assert share.connections_open == 3
    assert policy.is_local


@pytest.mark.parametrize(("protocol", "alpn"), [("mqtt", "mqtt"), ("websocket", "http/1.1")])
def test_what_is_agreed_on_in_tls_is_the_listeners_protocol(protocol: str, alpn: str) -> None:
    tls = Tls(certificate=Path("a"), key=Path("b"))
    files = tls_files_of(Listener(protocol=protocol, tls=tls))  # type: ignore[arg-type]
    assert files.alpn == alpn
