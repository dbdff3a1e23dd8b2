"""Creates the protocol objects that handle a listener's connections."""

import asyncio
from collections.abc import Callable, Iterable

from gateway.broker.access.certificates.listener import TlsFiles, revoked_of
from gateway.broker.access.certificates.revocation import names_of
from gateway.broker.core.quota import NO_LIMIT
from gateway.broker.core.sessions.share import Share
from gateway.broker.core.token_bucket import TokenBucket
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.broker.server.listeners.address_limits import BURST_SECONDS, AddressLimits
from gateway.broker.server.listeners.certificates import Certificates
from gateway.broker.server.listeners.gate import Gate, GateLimits
from gateway.broker.server.listeners.handshake_turns import HandshakeTurns
from gateway.broker.server.listeners.policy import WEBSOCKET_PATHS, AdmissionPolicy
from gateway.broker.server.listeners.proxied import ProxiedProtocol
from gateway.broker.server.listeners.stream import MqttProtocol
from gateway.broker.server.listeners.tls import TlsLayer
from gateway.configuration import Listener

Factory = Callable[[], asyncio.Protocol]


def tls_files_of(listener: Listener) -> TlsFiles:
    """Return the certificate files and TLS settings of a listener that uses TLS."""
    tls = listener.tls
    assert tls is not None
    return TlsFiles(
        certificate=tls.certificate,
        key=tls.key,
        ca=tls.ca,
        crl=tls.crl,
        client_certificates=tls.client_certificates,
        username=tls.username,
        min_version=tls.min_version,
        alpn="http/1.1" if listener.protocol == "websocket" else "mqtt",
    )


def revoked_by(listeners: Iterable[Listener]) -> frozenset[str]:
    """Return the short name (`Issued.name`) of each certificate on the listeners' revocation lists.

    Raises:
        CertificateError: a revocation list cannot be used.
    """
    return names_of(revoked_of(each.tls.crl) for each in listeners if each.tls is not None)


def policy_of(listener: Listener, share: Share) -> AdmissionPolicy:
    """Return the admission policy of a listener.

    `share` contains the limits and counters that all clients of the listener share. This function
    sets the limits to their configured values.
    """
    share.connections_max = listener.max_connections or NO_LIMIT
    share.client_packet_rate = listener.max_packet_rate or 0
    share.client_byte_rate = listener.max_byte_rate or 0
    share.sessions_max = listener.sessions or NO_LIMIT
    share.login_rate = listener.login_rate or 0
    share.packet_rate = listener.packet_rate or 0
    share.byte_rate = listener.byte_rate or 0
    return AdmissionPolicy(
        anonymous=listener.anonymous,
        share=share,
        origins=listener.origins,
        paths=paths_of(listener),
        listener=listener.called,
        is_local=not listener.is_reached_from_network,
    )


def paths_of(listener: Listener) -> tuple[str, ...]:
    """Return the URL paths under which a listener accepts WebSocket connections."""
    return WEBSOCKET_PATHS if listener.websocket_path is None else (listener.websocket_path,)


def factory_of(
    event_loop: EventLoop,
    listener: Listener,
    policy: AdmissionPolicy,
    certificates: Certificates | None,
    turns: HandshakeTurns,
    addresses: AddressLimits,
) -> Factory:
    """Return a function that creates the protocol objects for a new connection to a listener.

    Args:
        event_loop: the event loop that receives the client's data.
        listener: the configured listener.
        policy: the admission policy of the listener.
        certificates: the listener's certificates, or None if it does not use TLS.
        turns: the scheduler of TLS handshakes.
        addresses: the limits per client address.
    """
    protocol = MqttProtocol
    if listener.protocol == "websocket":
        # Without such a listener, the broker starts sooner, and needs less memory.
        from gateway.broker.server.listeners.websocket import WebSocketProtocol  # noqa: PLC0415

        protocol = WebSocketProtocol
    limits = _gate_limits_of(event_loop, listener, addresses)

    def make() -> tuple[MqttProtocol, asyncio.Protocol]:
        made = protocol(event_loop, policy)
        following: MqttProtocol | TlsLayer = made
        if certificates is not None:
            following = TlsLayer(made, certificates, turns)
        if not listener.proxy_protocol:
            return made, following
        takes_users = listener.proxy_protocol_certificates
        proxied = ProxiedProtocol(made, following, addresses, takes_users=takes_users)
        return made, proxied

    return lambda: Gate(limits, make)


def _gate_limits_of(
    event_loop: EventLoop, listener: Listener, addresses: AddressLimits
) -> GateLimits:
    bucket = None
    if listener.max_connection_rate is not None:
        rate = float(listener.max_connection_rate)
        bucket = TokenBucket(rate, rate * BURST_SECONDS, asyncio.get_running_loop().time())
    has_addresses = listener.protocol != "unix" and not listener.proxy_protocol
    return GateLimits(
        event_loop.broker.statistics,
        addresses if has_addresses else None,
        bucket,
        listener.called,
        event_loop.has_descriptor,
    )
