"""Certificates and revocation lists in DER: the identity of a certificate, and listed ones."""

import ssl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.access.certificates.revocation import Issued, NotDer, issued_of, revoked_in
from tests.broker.access.authority import Authority


def der_of(certificate: Path) -> bytes:
    return ssl.PEM_cert_to_DER_cert(certificate.read_text())


def test_a_list_names_what_was_revoked_and_nothing_else(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ca")
    assert revoked_in(authority.list_revoked().read_bytes()) == frozenset()
    issued = {name: issued_of(der_of(authority.issue(name)[0])) for name in "abc"}
    assert len({each.serial for each in issued.values()}) == 3
    assert issued["a"].serial == 0x1000
    for name in "ac":
        authority.revoke(authority.folder / f"{name}.pem")
    found = revoked_in(authority.list_revoked().read_bytes())
    assert found == {issued["a"], issued["c"]}


def test_the_same_number_of_another_authority_is_another_certificate(tmp_path: Path) -> None:
    first, second = Authority(tmp_path / "1", "first"), Authority(tmp_path / "2", "second")
    one, other = (issued_of(der_of(each.issue("a")[0])) for each in (first, second))
    assert one.serial == other.serial
    assert one != other
    first.revoke(first.folder / "a.pem")
    lists = first.list_revoked().read_bytes() + second.list_revoked().read_bytes()
    assert revoked_in(lists) == {one}


@pytest.mark.parametrize("cut", [1, 2, 10, 40, -1])
def test_a_list_that_is_cut_short_is_refused(tmp_path: Path, cut: int) -> None:
    authority = Authority(tmp_path / "ca")
    authority.revoke(authority.issue("a")[0])
    lines = authority.list_revoked().read_text().splitlines()
    body = "".join(lines[1:-1])
    shorter = body[: cut - cut % 4]
    text = f"-----BEGIN X509 CRL-----\n{shorter}\n-----END X509 CRL-----\n"
    with pytest.raises(NotDer):
        revoked_in(text.encode())


@given(st.binary(max_size=64) | st.binary(max_size=64).map(b"\x30\x40".__add__))
def test_any_bytes_are_a_certificate_or_refused(data: bytes) -> None:
    try:
        issued = issued_of(data)
    except NotDer:
        return
    assert isinstance(issued, Issued)


def test_what_is_not_base64_is_refused() -> None:
    with pytest.raises(NotDer, match="not base64"):
        revoked_in(b"-----BEGIN X509 CRL-----\n!!!!\n-----END X509 CRL-----\n")
