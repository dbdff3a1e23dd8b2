"""Details of a client's certificate.

The broker stores these details while the client is connected. If the certificate expires or is
revoked, the broker disconnects the client.
"""

import hashlib
import ssl
from typing import Any, NamedTuple

from gateway.broker.access.certificates.revocation import Issued, issued_of


class Peer(NamedTuple):
    """Details of a client certificate that was verified in a handshake."""

    issued: Issued
    anchor: bytes | None
    """SHA-256 digest of the last certificate in the verified chain, which is the authority's.

    None if the handshake resumed an earlier TLS session.
    """
    not_after: float
    """Time at which the certificate expires, in seconds since 1970."""


def peer_of(tls: ssl.SSLObject, certificate: bytes) -> Peer:
    """Return the details of a client's certificate.

    `tls` is the TLS object of the client's connection, and `certificate` is the verified
    certificate in DER. Raises NotDer if the DER is invalid.
    """
    chain = _verified_chain_of(tls)
    anchor = hashlib.sha256(chain[-1]).digest() if chain else None
    described = tls.getpeercert() or {}
    ends = described["notAfter"]
    assert isinstance(ends, str), "it is a text in every version of Python"
    return Peer(issued_of(certificate), anchor, float(ssl.cert_time_to_seconds(ends)))


def _verified_chain_of(tls: ssl.SSLObject) -> list[bytes]:
    """Return the verified certificate chain in DER, beginning with the client certificate."""
    if hasattr(tls, "get_verified_chain"):
        return list(tls.get_verified_chain() or [])
    # Before Python 3.13 only the inner object has this method, which returns certificate objects.
    inside: Any = tls._sslobj  # type: ignore[attr-defined]
    return [
        ssl.PEM_cert_to_DER_cert(each.public_bytes()) for each in inside.get_verified_chain() or ()
    ]
