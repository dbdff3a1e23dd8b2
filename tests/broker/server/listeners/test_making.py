"""The objects that are created from a listener's configuration."""

from pathlib import Path

import pytest

from gateway.broker.core.quota import NO_LIMIT
from gateway.broker.core.sessions.share import Share
from gateway.broker.server.listeners.making import policy_of, tls_files_of
from gateway.configuration import Listener
from gateway.configuration.tls import Tls


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
    share = Share(5)
    share.connections_open = 3
    policy = policy_of(Listener(max_packet_rate=7, byte_rate=500, login_rate=3), share)
    assert policy.share is share
    assert (share.connections_max, share.sessions_max) == (NO_LIMIT, NO_LIMIT)
    assert (share.client_packet_rate, share.client_byte_rate) == (7, 0)
    assert (share.packet_rate, share.byte_rate, share.login_rate) == (0, 500, 3)
    assert share.connections_open == 3
    assert policy.is_local


@pytest.mark.parametrize(("protocol", "alpn"), [("mqtt", "mqtt"), ("websocket", "http/1.1")])
def test_what_is_agreed_on_in_tls_is_the_listeners_protocol(protocol: str, alpn: str) -> None:
    tls = Tls(certificate=Path("a"), key=Path("b"))
    files = tls_files_of(Listener(protocol=protocol, tls=tls))  # type: ignore[arg-type]
    assert files.alpn == alpn
