"""Details of a verified client certificate that are stored: issuer, root of the chain, expiry."""

import hashlib
import ssl
import time
from pathlib import Path

import pytest

from gateway.broker.access.certificates.peer import peer_of
from gateway.broker.access.certificates.revocation import issued_of
from tests.broker.access.authority import DAY, Authority


def handshake(authority: Authority, version: ssl.TLSVersion) -> ssl.SSLObject:
    """Complete a TLS handshake with a client certificate; return the server's side."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(*authority.issue("gateway", alternatives="DNS:gateway"))
    server.load_verify_locations(authority.ca)
    server.verify_mode = ssl.CERT_REQUIRED
    client = ssl.create_default_context(cafile=authority.ca)
    client.load_cert_chain(*authority.issue("cellar", client=True, ends=7 * DAY))
    client.maximum_version = version
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(back, there, server_hostname="gateway"),
        server.wrap_bio(there, back, server_side=True),
    ]
    waiting = [*ends, *ends, *ends]
    for end in waiting:
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return ends[1]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_issuer_end_of_the_chain_and_end_are_kept(tmp_path: Path, version: ssl.TLSVersion) -> None:
    authority = Authority(tmp_path / "ca")
    tls = handshake(authority, version)
    certificate = tls.getpeercert(binary_form=True)
    assert certificate is not None
    peer = peer_of(tls, certificate)
    assert peer.issued == issued_of(certificate)
    trusted = ssl.PEM_cert_to_DER_cert(authority.ca.read_text())
    assert peer.anchor == hashlib.sha256(trusted).digest()
    assert abs(peer.not_after - time.time() - 7 * 86_400) < 3_600
