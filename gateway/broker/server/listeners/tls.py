"""TLS between the socket and the MQTT protocol. A PROXY header, if any, precedes TLS.

All data from one read of the socket is decrypted together and passed on in one call. If decryption
takes too long, for example because a client sends endless empty records, the remaining data waits
for the next iteration of the event loop.

OpenSSL's output is written to the socket's buffer immediately. The MQTT protocol object sets the
limits on this buffer.
"""

import asyncio
import ssl
import time
from time import perf_counter
from typing import Final

from gateway.broker.access.certificates.listener import reason_of
from gateway.broker.access.certificates.peer import peer_of
from gateway.broker.access.certificates.peer_names import NoUser, user_of
from gateway.broker.server.listeners.certificates import Certificates, end_revoked, end_withdrawn
from gateway.broker.server.listeners.handshake_turns import HandshakeTurns
from gateway.broker.server.listeners.stream import MqttProtocol
from gateway.process.tls_transport import READ_BYTES, TlsTransport

HANDSHAKE_FAILED: Final = "tls_handshake"
CERTIFICATE_REFUSED: Final = "tls_client_certificate"
RECORD_WRONG: Final = "tls_record"
"""Name under which the status counts invalid TLS records in `errors`."""

PIECE_BYTES: Final = 16 * 1024
"""Number of encrypted bytes passed to OpenSSL between two checks of the time: 750 of the shortest
records."""

SLICE_SECONDS: Final = 0.002
"""Maximum time per iteration of the event loop for the records of one client."""

_CERTIFICATE_ERRORS: Final = ("PEER_DID_NOT_RETURN_A_CERTIFICATE", "CERTIFICATE_VERIFY_FAILED")
_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST")


class TlsLayer(TlsTransport[MqttProtocol]):
    """One TLS connection, which cannot be written to until the handshake is complete."""

    def __init__(
        self, protocol: MqttProtocol, certificates: Certificates, turns: HandshakeTurns
    ) -> None:
        super().__init__(protocol)
        self._certificates = certificates
        self._turns = turns
        self._unread = b""
        """Received data that is not passed to OpenSSL yet."""
        self._wants_reading = True
        self._waits = False
        """True if processing continues in a later iteration of the event loop. Reading is
        paused."""

    # -- towards the socket: a protocol

    def data_received(self, data: bytes) -> None:
        """Process received bytes, which are handshake messages or TLS records."""
        if self._is_over:
            return
        self._unread = self._unread + data if self._unread else data
        if self._waits:
            return
        if self._is_established:
            self._decrypt()
        elif not self._turns.take(self._shake_hands):
            self._waits = True
            self._update_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report to the protocol that either side has closed the connection."""
        self._certificates.peers.pop(self._protocol, None)
        super().connection_lost(exc)

    # -- the handshake

    def _shake_hands(self) -> None:
        self._waits = False
        if self._is_over:
            return
        tls = self._tls or self._begin(self._certificates.loaded.context)
        while self._unread and not self._is_established:
            self._feed()
            try:
                tls.do_handshake()
                self._is_established = True
            except ssl.SSLWantReadError:
                continue  # normal after each group of handshake messages
            except ssl.SSLError as error:
                self._flush()  # the alert with the reason
                self._refuse(error)
                return
        self._flush()
        if not self._is_established or self._takes_peer(tls):
            self._update_reading()
            if self._is_established and (self._unread or self._received.pending):
                self._decrypt()

    def _takes_peer(self, tls: ssl.SSLObject) -> bool:
        """Check and store the client's certificate. Authenticate the user named in it, if any.

        If the client has no certificate or no CA is configured, do nothing. Return False if the
        connection must be closed.
        """
        certificates = self._certificates
        encoded = tls.getpeercert(binary_form=True)
        if certificates.files.ca is None or encoded is None:
            return True
        peer = peer_of(tls, encoded)
        # The files may have been replaced during the handshake.
        if peer.issued in certificates.loaded.revoked:
            end_revoked(self._protocol)
            return False
        if peer.anchor is not None and peer.anchor not in certificates.loaded.authorities:
            end_withdrawn(self._protocol)
            return False
        try:
            user = user_of(tls.getpeercert() or {}, certificates.files.username)
        except NoUser as error:
            self._end(CERTIFICATE_REFUSED, str(error))
            return False
        self._protocol.connection.proven_user = user
        self._protocol.connection.certificate = peer.issued.name
        certificates.peers[self._protocol] = peer
        if user is not None:
            certificates.note_proof(user, max(0.0, peer.not_after - time.time()))
        return True

    def _refuse(self, error: ssl.SSLError) -> None:
        said = reason_of(error)
        if error.reason in _NO_TLS:
            said = "not a TLS client: use TLS at this port, or the port of a listener without TLS"
        reason = CERTIFICATE_REFUSED if error.reason in _CERTIFICATE_ERRORS else HANDSHAKE_FAILED
        self._end(reason, said)

    def _end(self, reason: str, detail: str) -> None:
        self._is_over = not self._is_established
        self._protocol.close_for(reason, detail)

    # -- records

    def _decrypt(self) -> None:
        parts: list[bytes] = []
        due = perf_counter() + SLICE_SECONDS
        self._feed()
        wrong = self._read_into(parts)
        while self._unread and isinstance(wrong, ssl.SSLWantReadError):
            if perf_counter() >= due:
                self._continue_later()
                break
            self._feed()
            wrong = self._read_into(parts)
        self._flush()  # replies of TLS itself to a key update
        if parts:
            self._protocol.data_received(parts[0] if len(parts) == 1 else b"".join(parts))
        if wrong is None:
            self.close()  # the client closed TLS, so no more data can arrive
        elif not isinstance(wrong, ssl.SSLWantReadError) and not self._is_over:
            self._end(RECORD_WRONG, reason_of(wrong))
        elif self._waits:
            self._update_reading()

    def _continue_later(self) -> None:
        self._waits = True
        asyncio.get_running_loop().call_soon(self._continue)

    def _continue(self) -> None:
        self._waits = False
        # The rest of a read also waits if the protocol has paused reading: `resume_reading`.
        if not self._is_over and self._wants_reading:
            self._decrypt()
            self._update_reading()

    def _feed(self) -> None:
        """Pass the next `PIECE_BYTES` of received data to OpenSSL."""
        unread = self._unread
        if len(unread) <= PIECE_BYTES:
            self._received.write(unread)
            self._unread = b""
        else:
            self._received.write(unread[:PIECE_BYTES])
            self._unread = unread[PIECE_BYTES:]

    def _read_into(self, parts: list[bytes]) -> ssl.SSLError | None:
        """Decrypt complete records and append their contents to `parts`.

        Return the SSL error that ended reading. It may simply mean that more data is needed.
        Return None if the client has closed the TLS session.
        """
        assert self._tls is not None
        try:
            while part := self._tls.read(READ_BYTES):
                parts.append(part)
        except ssl.SSLError as error:
            # The traceback would refer to frames that refer to the error: a cycle for each read.
            return error.with_traceback(None)
        return None

    def _update_reading(self) -> None:
        wanted = self._wants_reading and not self._waits
        if self._socket.is_closing() or wanted == self._socket.is_reading():
            return
        if wanted:
            self._socket.resume_reading()
        else:
            self._socket.pause_reading()

    # -- towards the protocol: a transport

    def pause_reading(self) -> None:
        """Pause reading encrypted data from the socket."""
        self._wants_reading = False
        self._update_reading()

    def resume_reading(self) -> None:
        """Resume reading. Data that was received before the pause is processed first."""
        self._wants_reading = True
        if self._unread and self._is_established and not self._waits:
            self._continue_later()
        self._update_reading()

    def is_reading(self) -> bool:
        """Return True unless the protocol has paused reading or the socket is closing."""
        return self._wants_reading and not self._socket.is_closing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the buffer sizes at which writing is paused and resumed, in encrypted bytes."""
        self._socket.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        """Return the number of buffered encrypted bytes."""
        return self._socket.get_write_buffer_size()
