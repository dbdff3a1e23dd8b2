"""The listeners of a running broker, opened at its start and changed by reloads.

A change has two steps. The first step does everything that can fail, such as loading certificates
and binding sockets, and changes nothing. The second step cannot fail. An unchanged listener keeps
its socket. It also keeps its connections if clients authenticate in the same way as before.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.broker.access.certificates.listener import CertificateError, Loaded
from gateway.broker.access.certificates.revocation import names_of
from gateway.broker.core.sessions.share import Share
from gateway.broker.core.violation import Violation
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.broker.server.listeners.address_limits import AddressLimits, AddressSettings
from gateway.broker.server.listeners.bound import BACKLOG, Bound, bind
from gateway.broker.server.listeners.certificates import Certificates, CertificateWatch
from gateway.broker.server.listeners.handshake_turns import HandshakeTurns
from gateway.broker.server.listeners.making import (
    Factory,
    factory_of,
    paths_of,
    policy_of,
    tls_files_of,
)
from gateway.broker.server.listeners.policy import AdmissionPolicy
from gateway.broker.server.listeners.stream import MqttProtocol
from gateway.broker.wire.codes import ADMINISTRATIVE_ACTION
from gateway.configuration import Listener
from gateway.configuration.listener import ends_connections, paired

logger = logging.getLogger(__name__)

SECURED = {"mqtt": "mqtts", "websocket": "wss"}
"""Names of the protocols when a listener uses TLS."""

LISTENER_CLOSED = "listener_closed"
LISTENER_CHANGED = "listener_changed"
"""Reason name for connections that are closed because a reload changed their listener."""


class OpenListener:
    """An open listener with its sockets, its limits and, for TLS, its certificates."""

    def __init__(self, listener: Listener, bound: Bound) -> None:
        self.listener = listener
        self.bound = bound
        self.share = Share()
        self.policy: AdmissionPolicy
        self.factory: Factory
        self.certificates: Certificates | None = None
        self.servers: list[asyncio.Server] = []
        self.shown: list[dict[str, Any]] = []
        self.is_closed = False


@dataclass
class Change:
    """Changes to the listeners, which a reload has prepared but not yet applied."""

    kept: list[tuple[OpenListener, Listener]] = field(default_factory=list)
    opened: list[OpenListener] = field(default_factory=list)
    closed: list[OpenListener] = field(default_factory=list)
    order: list[OpenListener] = field(default_factory=list)
    """All listeners after the change, in configured order."""
    certificates: dict[OpenListener, Certificates] = field(default_factory=dict)
    """Certificates of listeners whose configured files differ from before."""
    renewed: list[tuple[Certificates, Loaded]] = field(default_factory=list)
    """Certificates of listeners whose configured files are the same but have new contents."""

    def give_up(self) -> None:
        """Discard a prepared change, and close the sockets that were bound for it."""
        for each in self.opened:
            each.bound.close()


class OpenListeners:
    """The open listeners of a broker. The attribute `shown` contains their status entries."""

    def __init__(self, event_loop: EventLoop, settings: AddressSettings) -> None:
        self._event_loop = event_loop
        self.addresses = AddressLimits(event_loop.broker.statistics, settings)
        self.certificates = CertificateWatch()
        self._turns = HandshakeTurns()
        self._open: list[OpenListener] = []
        self._serving: set[asyncio.Task[None]] = set()
        self.certificates_differ = False
        """True if the last `apply` loaded renewed files of an unchanged listener."""
        self.shown: list[dict[str, Any]] = []

    def prepare(self, listeners: Sequence[Listener]) -> Change:
        """Prepare to switch to the given listeners. Nothing that is in use is changed.

        Raises:
            OSError: a listener's address cannot be used.
            CertificateError: a certificate cannot be used.
        """
        change = Change()
        pairs = paired([each.listener for each in self._open], listeners)
        by_listener = {id(each.listener): each for each in self._open}
        change.closed = [by_listener[id(old)] for old, new in pairs if old and new is None]
        try:
            for old, new in pairs:
                if new is None:
                    continue
                if old is None:
                    given_up = [each.bound for each in change.closed]
                    opened = OpenListener(new, bind(new, given_up))
                    change.opened.append(opened)
                else:
                    opened = by_listener[id(old)]
                    change.kept.append((opened, new))
                change.order.append(opened)
                if new.tls is not None and (old is None or _needs_files(old, new)):
                    change.certificates[opened] = self._certificates_of(new)
            change.renewed = self.certificates.load_outdated(
                each.certificates
                for each, _ in change.kept
                if each.certificates is not None and each not in change.certificates
            )
        except BaseException:
            change.give_up()
            raise
        return change

    def apply(self, change: Change) -> int:
        """Apply a prepared change. Return the number of closed connections."""
        ended = sum(self._close(each) for each in change.closed)
        for each, listener in change.kept:
            ended += self._change(each, listener, change.certificates.get(each))
        for each in change.opened:
            self._begin(each, each.listener, change.certificates.get(each))
        self.certificates_differ = self.certificates.use(change.renewed)
        self._open = change.order
        self.certificates.all = [
            each.certificates for each in self._open if each.certificates is not None
        ]
        self.shown[:] = [shown for each in self._open for shown in each.shown]
        self._revoke()
        self.certificates.start()
        if change.opened:
            serving = asyncio.get_running_loop().create_task(self._serve(change.opened))
            self._serving.add(serving)
            serving.add_done_callback(self._serving.discard)
        return ended

    async def _serve(self, opened: Sequence[OpenListener]) -> None:
        """Accept connections on new listeners, including connections that the kernel has queued."""
        loop = asyncio.get_running_loop()
        for each in opened:
            if each.is_closed:
                continue
            create = loop.create_unix_server if each.listener.path else loop.create_server
            for listening in each.bound.sockets:
                server = await create(_of(each), sock=listening, backlog=BACKLOG)
                each.servers.append(server)
            for shown in each.shown:
                logger.info("listening for %s", _in_words(shown))

    async def start(self, listeners: Sequence[Listener]) -> None:
        """Open the given listeners when the broker starts.

        Raises:
            OSError: a listener's address cannot be used.
            CertificateError: a certificate cannot be used.
        """
        self.apply(self.prepare(listeners))
        await asyncio.gather(*self._serving)

    def close(self) -> None:
        """Stop accepting connections, and remove the files of the broker's Unix sockets."""
        self.certificates.stop()
        for serving in self._serving:
            serving.cancel()
        for each in self._open:
            _stop(each)

    # -- one listener

    def _certificates_of(self, listener: Listener) -> Certificates:
        certificates = Certificates(tls_files_of(listener))
        # At the start an expired certificate is used, because there is no better one.
        problem = certificates.loaded.problem_at(time.time()) if self._open else None
        if problem is not None:
            raise CertificateError(problem)
        authentications = self._event_loop.authentications
        certificates.note_proof = authentications.note_proof
        certificates.withdraw = authentications.withdraw
        certificates.used = self._revoke
        return certificates

    def _revoke(self) -> None:
        """Stop deliveries to stored sessions whose clients' certificates have been revoked."""
        revoked = [each.loaded.revoked for each in self.certificates.all]
        count = self._event_loop.broker.revoke_certificates(names_of(revoked))
        if count:
            logger.warning(
                "the certificates of %d stored sessions are revoked: they receive nothing", count
            )

    def _begin(
        self, each: OpenListener, listener: Listener, certificates: Certificates | None
    ) -> None:
        each.listener = listener
        each.certificates = certificates
        each.policy = policy_of(listener, each.share)
        each.shown = _shown_of(each)
        self._make_factory(each)

    def _change(
        self, each: OpenListener, listener: Listener, certificates: Certificates | None
    ) -> int:
        before = each.listener
        if before == listener:
            each.listener = listener
            return 0
        if ends_connections(before, listener):
            policy = each.policy
            self._begin(each, listener, certificates)
            logger.warning("the listener at %s changed: its connections end", listener.place)
            return self._end(policy, LISTENER_CHANGED, "clients authenticate in another way")
        each.listener = listener
        # Updated in place, so that connections being set up use the new values.
        vars(each.policy).update(vars(policy_of(listener, each.share)))
        if each.certificates is not None and certificates is not None:
            each.certificates.adopt(certificates)
        self._make_factory(each)
        return 0

    def _make_factory(self, each: OpenListener) -> None:
        each.factory = factory_of(
            self._event_loop,
            each.listener,
            each.policy,
            each.certificates,
            self._turns,
            self.addresses,
        )

    def _close(self, each: OpenListener) -> int:
        _stop(each)
        logger.info("no longer listening at %s", each.listener.place)
        return self._end(each.policy, LISTENER_CLOSED, "its listener was closed")

    def _end(self, policy: AdmissionPolicy, reason: str, detail: str) -> int:
        policy.is_over = True
        ended = 0
        for connection, channel in list(self._event_loop.channels.items()):
            is_its = isinstance(channel, MqttProtocol) and channel.policy is policy
            if is_its and connection.is_open:
                self._event_loop.close_for(
                    channel, Violation(reason, ADMINISTRATIVE_ACTION, detail)
                )
                ended += 1
        return ended


def _of(each: OpenListener) -> Callable[[], asyncio.Protocol]:
    return lambda: each.factory()  # noqa: PLW0108 - the factory may be replaced later


def _stop(each: OpenListener) -> None:
    each.is_closed = True
    for server in each.servers:
        server.close()
    each.bound.close()


def _needs_files(before: Listener, after: Listener) -> bool:
    return before.tls != after.tls or ends_connections(before, after)


def _shown_of(each: OpenListener) -> list[dict[str, Any]]:
    listener, certificates = each.listener, each.certificates
    named = {} if listener.name is None else {"name": listener.name}
    if listener.path is not None:
        return [{"protocol": "unix", "path": str(listener.path)} | named]
    found: list[dict[str, Any]] = []
    for listening in each.bound.sockets:
        address, port = listening.getsockname()[:2]
        protocol = listener.protocol if certificates is None else SECURED[listener.protocol]
        shown: dict[str, Any] = {"protocol": protocol, "bind": address, "port": port} | named
        if listener.protocol == "websocket":
            shown["path"] = paths_of(listener)[0]
        if certificates is not None:
            certificates.shown.append(shown)
        found.append(shown)
    return found


def _in_words(shown: dict[str, Any]) -> str:
    if shown["protocol"] == "unix":
        return f"mqtt on the Unix socket {shown['path']}"
    return f"{shown['protocol']} on {shown['bind']} port {shown['port']}"
