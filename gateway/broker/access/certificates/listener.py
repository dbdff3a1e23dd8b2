"""Loads and checks the certificate files of a TLS listener, and creates its TLS context.

To load a certificate, this module performs a TLS handshake with itself in memory. A successful
handshake proves that the certificate and its key work, and reveals the certificate's fields.
Loading ignores the certificate's dates, because a machine without a battery-backed clock can have
the wrong time at startup. The caller checks the dates.
"""

import datetime
import os
import ssl
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway.broker.access.certificates.revocation import Issued, NotDer, revoked_in
from gateway.broker.access.errors import AccessFileError
from gateway.process.files.pem import certificates_in

CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Ciphers for TLS 1.2, all with forward secrecy and authenticated encryption.

All ciphers of TLS 1.3 have both.
"""

FILE_BYTES_MAX: Final = 1 << 20
"""Size of each certificate file, at most.

A revocation list of this size contains 25,000 certificates and takes about 50 ms to parse. A
certificate chain takes a few kilobytes.
"""

WARNING_DAYS: Final = 30
"""Days before a certificate expires at which a warning first appears.

certbot renews 30 days before expiry, so a certificate with less time left was not renewed.
"""

DAY_SECONDS: Final = 86_400
_NO_CHECK_TIME: Final = 0x200000
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, for which Python's `ssl` module has no name."""

_ROUND_TRIPS_MAX: Final = 10
_VERSIONS: Final = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
_MODES: Final = {
    "none": ssl.CERT_NONE,
    "optional": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class CertificateError(AccessFileError):
    """Error about an unusable certificate. The message names the file, the problem and the fix."""


@dataclass(frozen=True, kw_only=True)
class TlsFiles:
    """One listener's certificate files, and the listener's requirements for client certificates."""

    certificate: Path
    key: Path
    ca: Path | None = None
    """File with the certificates of the authorities that sign client certificates."""
    crl: Path | None = None
    client_certificates: str = "none"
    """Requirement for client certificates: `none`, `optional` or `required`."""
    username: str = "common_name"
    """The field of a client's certificate that contains the user name (see peer_names.py)."""
    min_version: str = "1.2"
    alpn: str = "mqtt"

    @property
    def paths(self) -> list[Path]:
        """Paths of all certificate files that are configured for the listener."""
        named = (self.certificate, self.key, self.ca, self.crl)
        return [path for path in named if path is not None]


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A listener's certificate that has been loaded and is ready for TLS handshakes."""

    file: Path
    context: ssl.SSLContext
    subject: str
    not_before: float
    """Start of the certificate's validity, in seconds since 1970. `not_after` is the end."""
    not_after: float
    revoked: frozenset[Issued]
    """Client certificates in the revocation list."""
    authorities: frozenset[bytes] = frozenset()
    """SHA-256 digests of the certificates in the file `ca`."""

    def days_left(self, now: float) -> int:
        """Return the number of whole days until the certificate expires.

        The number is negative if the certificate has already expired.
        """
        return int((self.not_after - now) // DAY_SECONDS)

    def problem_at(self, now: float) -> str | None:
        """Return a message if the certificate is invalid at `now`, otherwise None.

        The message states the reason and the fix. `now` is in seconds since 1970.
        """
        if now < self.not_before:
            date = _date_of(self.not_before)
            return f"{self.file}: not valid before {date}: look at this machine's clock"
        if now >= self.not_after:
            return f"{self.file}: expired on {_date_of(self.not_after)}: renew it"
        return None

    def warning_at(self, now: float) -> str | None:
        """Return a warning if the certificate is invalid or expires soon, otherwise None."""
        days = self.days_left(now)
        if now < self.not_before or days >= WARNING_DAYS or days < 0:
            return self.problem_at(now)
        date = _date_of(self.not_after)
        return f"{self.file}: expires on {date}, in {days} days: renew it"


def load(files: TlsFiles) -> Loaded:
    """Load the certificate files of a listener.

    Raises:
        CertificateError: one of the files cannot be used.
    """
    certificate = files.certificate
    _read_pem(certificate, b"CERTIFICATE", "a certificate")
    _check_key(files.key)
    context = _context_of(files)
    _accept_clients(context, files)
    described = _described(files)
    subject = ", ".join(value for part in described["subject"] for _, value in part)
    return Loaded(
        file=certificate,
        context=context,
        subject=subject,
        not_before=ssl.cert_time_to_seconds(described["notBefore"]),
        not_after=ssl.cert_time_to_seconds(described["notAfter"]),
        revoked=revoked_of(files.crl),
        authorities=frozenset() if files.ca is None else certificates_in(files.ca),
    )


def _context_of(files: TlsFiles) -> ssl.SSLContext:
    """Return a TLS context with the certificate and key in `files`.

    The context does not request client certificates.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[files.min_version]
    context.set_ciphers(CIPHERS)
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    # All allowed ciphers are secure, so a client without AES hardware may choose its fastest one.
    context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    context.set_alpn_protocols([files.alpn])
    try:
        # Without a password argument OpenSSL would prompt for one at the terminal.
        context.load_cert_chain(files.certificate, files.key, password=b"")
    except ssl.SSLError as error:
        raise CertificateError(_chain_problem(files, error)) from None
    except OSError as error:
        raise CertificateError(f"{files.certificate}: cannot be read: {error.strerror}") from None
    return context


def _chain_problem(files: TlsFiles, error: ssl.SSLError) -> str:
    certificate, key = files.certificate, files.key
    if error.reason == "KEY_VALUES_MISMATCH":
        return (
            f"{key}: does not belong to the certificate {certificate}: name the key that it was "
            "made with"
        )
    return f"{certificate}, {key}: cannot be used: {reason_of(error)}"


def _accept_clients(context: ssl.SSLContext, files: TlsFiles) -> None:
    """Set up a TLS context to verify client certificates as `files` requires."""
    context.verify_mode = _MODES[files.client_certificates]
    if files.ca is not None:
        _read_pem(files.ca, b"CERTIFICATE", "the certificates of clients' authorities")
        _load_trusted(context, files.ca)
    if files.crl is not None:
        _read_pem(files.crl, b"X509 CRL", "a revocation list")
        _load_trusted(context, files.crl)
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF


def _load_trusted(context: ssl.SSLContext, path: Path) -> None:
    try:
        context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise CertificateError(f"{path}: cannot be used: {reason_of(error)}") from None
    except OSError as error:
        raise CertificateError(f"{path}: cannot be read: {error.strerror}") from None


def revoked_of(crl: Path | None) -> frozenset[Issued]:
    """Return the revoked certificates that are listed in the file `crl`.

    The result is empty if `crl` is None. Raises CertificateError if the file cannot be used.
    """
    if crl is None:
        return frozenset()
    try:
        return revoked_in(_read_pem(crl, b"X509 CRL", "a revocation list"))
    except NotDer as error:
        raise CertificateError(f"{crl}: cannot be used: {error}") from None


def _check_key(path: Path) -> None:
    content = _read_pem(path, b"PRIVATE KEY", "a private key")
    if b"ENCRYPTED" in content:
        raise CertificateError(
            f"{path}: is encrypted, and nothing here knows its passphrase. Run "
            f"openssl pkey -in {path} -out NEW, then chmod 600 NEW"
        )
    mode = path.stat().st_mode
    if mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise CertificateError(
            f"{path}: is a secret, and mode {stat.S_IMODE(mode):04o} gives others access. "
            f"Run chmod 600 {path}, or 640 with a group of the broker's own"
        )


def _read_pem(path: Path, label: bytes, what: str) -> bytes:
    """Return the contents of a PEM file, which must contain a block of the right type.

    The block's label must end with `label`, for example with `PRIVATE KEY`. `what` describes the
    expected contents in error messages. Raises CertificateError if the file is unreadable, too long
    or without such a block.
    """
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        fix = "name the file, or make a set with: oncegate tls init DIR"
        if isinstance(error, PermissionError):
            fix = f"let the user {os.geteuid()} that this runs as read it"
        raise CertificateError(f"{path}: cannot be read: {error.strerror}; {fix}") from None
    if len(content) > FILE_BYTES_MAX:
        raise CertificateError(f"{path}: longer than {FILE_BYTES_MAX} bytes")
    if label + b"-----" not in content:
        begin = f"-----BEGIN {label.decode()}-----"
        raise CertificateError(
            f"{path}: is not {what} in PEM, a text with {begin} in it; of a DER file openssl makes "
            "one, with -inform DER"
        )
    return content


def _described(files: TlsFiles) -> dict[str, Any]:
    """Return the fields of the listener's certificate, as a client sees them in a TLS handshake.

    The handshake takes place in memory, with a client that trusts only this certificate.
    """
    path = files.certificate
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    # Not |=, which would lose flags for which Python has no names.
    client.verify_flags = ssl.VerifyFlags(int(ssl.VERIFY_X509_PARTIAL_CHAIN) | _NO_CHECK_TIME)
    _load_trusted(client, path)
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        _context_of(files).wrap_bio(to_server, to_client, server_side=True),
        client.wrap_bio(to_client, to_server),
    ]
    try:
        for _ in range(_ROUND_TRIPS_MAX):
            hands_shaken = [_has_shaken_hands(end) for end in reversed(ends)]
            if all(hands_shaken):
                break
        described = ends[1].getpeercert()
    except ssl.SSLError as error:
        raise CertificateError(
            f"{path}: no client would accept it: {reason_of(error)}; it has to be a server's"
        ) from None
    assert described, "what was verified can be read"
    return described


def _has_shaken_hands(end: ssl.SSLObject) -> bool:
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def reason_of(error: ssl.SSLError) -> str:
    """Return the reason stated in an OpenSSL error, without the position in OpenSSL's source."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    return (error.reason or str(error)).lower().replace("_", " ")


def _date_of(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
