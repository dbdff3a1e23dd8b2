"""Watches the TLS listeners' certificate files, and loads renewed files while the broker runs.

Renewed files are used for new connections. An existing connection is closed if its client's
certificate is on a new revocation list, or was issued by an authority that is no longer trusted. If
renewed files cannot be used, the previous ones stay in use. A connection is also closed when its
client's certificate expires.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from gateway.broker.access.certificates.listener import CertificateError, Loaded, TlsFiles, load
from gateway.broker.access.certificates.peer import Peer
from gateway.broker.core.rules.timeouts import CREDENTIALS_EXPIRED
from gateway.broker.server.listeners.stream import MqttProtocol
from gateway.broker.wire.codes import MAXIMUM_CONNECT_TIME, NOT_AUTHORIZED
from gateway.process.files.file_state import FileState, states_of

logger = logging.getLogger(__name__)

CHECK_SECONDS: Final = 60.0
"""Interval at which the files are checked. Programs such as certbot replace them without notice."""

SETTLE_SECONDS: Final = 2.0
"""Waiting time after a file has changed, in seconds. Certificate and key are two files, which are
loaded once neither of them changes any more."""

WARNINGS_SECONDS: Final = 86_400.0
"""Interval of log lines about a certificate that expires soon."""

EXPIRY_SECONDS: Final = 1.0
"""Shortest time between two checks for expired client certificates."""

WITHDRAWN: Final = "tls_authority_withdrawn"
"""Reason name for connections that are closed because the authority of the client's certificate is
no longer trusted."""

REVOKED: Final = "tls_certificate_revoked"
"""Reason name for connections that are closed because the client's certificate was revoked."""


class Certificates:
    """The certificate files of one listener, and the client certificates of its connections."""

    def __init__(self, files: TlsFiles) -> None:
        """Load the certificate files. Raises CertificateError if they cannot be used."""
        self.files = files
        self.used_state = states_of(files.paths)
        """State of the files at the time when the current certificate was loaded."""
        self._tried = self.used_state
        """State of the files that were read last, even if they could not be used."""
        self.settling: tuple[FileState, ...] | None = None
        """State of changed files at the last check, or None if no file had changed."""
        self.loaded = load(files)
        self.problem: str | None = None
        """Why the files on disk are not used, or None if they are."""
        self.peers: dict[MqttProtocol, Peer] = {}
        """The client certificates of open connections."""
        self.note_proof: Callable[[str, float | None], None] = lambda *_: None
        """Called with a user that a certificate has authenticated, and the number of seconds until
        the certificate expires."""
        self.withdraw: Callable[[str], None] = lambda _: None
        """Called with the user of a connection that was closed because the client's certificate is
        no longer valid."""
        self.used: Callable[[], None] = lambda: None
        """Called after new files were loaded, because the revocation list may have changed."""
        self.shown: list[dict[str, Any]] = []
        """Status entries of the listener, one for each of its addresses."""

    def candidate(self, now: float) -> Loaded:
        """Load the files on disk. Raises CertificateError if they are invalid at `now`."""
        self._tried = states_of(self.files.paths)
        try:
            loaded = load(self.files)
            problem = loaded.problem_at(now)
            if problem is not None:
                raise CertificateError(problem)
        except CertificateError as error:
            if self.problem != str(error):
                logger.error("the previous certificate stays in use: %s", error)
            self.problem = str(error)
            raise
        return loaded

    def is_outdated(self) -> bool:
        """Return True if the certificate files must be loaded again.

        They must be loaded again if they have changed on disk, or if the latest attempt to load
        them failed. A certificate that had already expired when the broker started does not count
        as a failure, because it was loaded anyway. It is loaded again only if its file has changed.
        """
        return self.problem is not None or states_of(self.files.paths) != self.used_state

    def use(self, loaded: Loaded) -> None:
        """Use newly loaded certificate files for new connections.

        Close existing connections whose client certificate was revoked, or was issued by an
        authority that the new files no longer contain.
        """
        withdrawn = self.loaded.authorities - loaded.authorities
        self.loaded = loaded
        self.used_state = self._tried
        self.problem = None
        for protocol, peer in list(self.peers.items()):
            if peer.issued in loaded.revoked:
                end_revoked(protocol)
            elif withdrawn and peer.anchor not in loaded.authorities:
                end_withdrawn(protocol)
            else:
                continue
            user = protocol.connection.proven_user
            if user is not None:
                self.withdraw(user)
        self.used()

    def end_expired(self, now: float) -> float:
        """Close connections whose client certificate has expired.

        Return the time at which the next client certificate expires, in seconds since 1970. Return
        infinity if no connection has a client certificate.
        """
        soonest = float("inf")
        for protocol, peer in list(self.peers.items()):
            if peer.not_after > now:
                soonest = min(soonest, peer.not_after)
            else:
                detail = "its client's certificate has expired"
                protocol.close_for(CREDENTIALS_EXPIRED, detail, MAXIMUM_CONNECT_TIME)
        return soonest

    def adopt(self, other: "Certificates") -> None:
        """Switch to the certificate files that another listener has already loaded."""
        self.files = other.files
        self._tried = other.used_state
        self.settling = None
        self.use(other.loaded)

    def show(self, now: float) -> None:
        """Update the `certificate` object in the listener's status entries."""
        loaded = self.loaded
        for entry in self.shown:
            entry["certificate"] = {
                "subject": loaded.subject,
                "not_after_ms": int(loaded.not_after * 1000),
                "days_left": loaded.days_left(now),
                "problem": self.problem or loaded.warning_at(now),
                "unused": self.problem is not None,
            }


class CertificateWatch:
    """Monitor of all listeners' certificate files. It loads the files again after a change."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Set the clock, a function that returns wall time in seconds since 1970."""
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self.all: list[Certificates] = []
        self._timer: asyncio.TimerHandle | None = None
        self._warned_at = float("-inf")

    def start(self) -> None:
        """Start watching the certificate files."""
        self.stop()
        if self.all:
            self._warn()
            self._check_later(CHECK_SECONDS)

    def stop(self) -> None:
        """Stop watching the certificate files."""
        if self._timer is not None:
            self._timer.cancel()

    def load_outdated(self, asked: Iterable[Certificates]) -> list[tuple[Certificates, Loaded]]:
        """Load the certificate files of those listeners in `asked` whose certificates are outdated.

        The loaded certificates are returned, and come into use only when they are passed to `use`.

        Raises:
            CertificateError: a certificate cannot be used. All old certificates stay in use.
        """
        now = self._clock()
        return [(each, each.candidate(now)) for each in asked if each.is_outdated()]

    def use(self, loaded: list[tuple[Certificates, Loaded]]) -> bool:
        """Use the certificates in `loaded`, the result of `load_outdated`, for new connections.

        Return True if at least one of them differs from the certificate that it replaces.
        """
        differs = False
        for certificates, new in loaded:
            differs |= not _is_same(certificates.loaded, new)
            certificates.use(new)
            certificates.show(self._clock())
        return differs

    def _check_later(self, seconds: float) -> None:
        self._timer = self._loop.call_later(seconds, self.check_files)

    def check_files(self) -> None:
        """Check whether the certificate files have changed, and load changed files.

        Changed files are loaded only when two consecutive checks find them in the same state. This
        avoids loading a file that is still being written. Connections with expired client
        certificates are closed.
        """
        settling = False
        for each in self.all:
            found = states_of(each.files.paths)
            if found not in (each.used_state, each.settling):
                each.settling = found
                settling = True
            elif found != each.used_state or each.problem is not None:
                self._replace(each)  # if the dates were the problem, they may be valid by now
        self._warn()
        now = self._clock()
        soonest = min((each.end_expired(now) for each in self.all), default=float("inf"))
        pause = SETTLE_SECONDS if settling else CHECK_SECONDS
        self._check_later(min(pause, max(EXPIRY_SECONDS, soonest - now)))

    def _replace(self, certificates: Certificates) -> None:
        try:
            loaded = certificates.candidate(self._clock())
        except CertificateError:
            return  # logged, and shown as the listener's problem
        certificates.use(loaded)
        logger.info("%s was replaced: new connections use it", certificates.files.certificate)

    def _warn(self) -> None:
        now = self._clock()
        for each in self.all:
            each.show(now)
        if abs(now - self._warned_at) < WARNINGS_SECONDS:
            return
        self._warned_at = now
        for each in self.all:
            warning = each.loaded.warning_at(now)
            if warning is not None:
                logger.warning("%s", warning)


def end_revoked(peer: MqttProtocol) -> None:
    """Close a connection whose client certificate was revoked."""
    peer.close_for(REVOKED, "the client's certificate is on the revocation list", NOT_AUTHORIZED)


def end_withdrawn(peer: MqttProtocol) -> None:
    """Close a connection whose client certificate was issued by an authority no longer trusted."""
    detail = "the authority of its client's certificate is not trusted any more"
    peer.close_for(WITHDRAWN, detail, NOT_AUTHORIZED)


def _is_same(before: Loaded, after: Loaded) -> bool:
    return all(
        getattr(before, name) == getattr(after, name)
        for name in ("subject", "not_before", "not_after", "revoked", "authorities")
    )
