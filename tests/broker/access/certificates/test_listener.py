"""The TLS files of a listener: which are accepted, and refusals that name the fix."""

import datetime
import ssl
import time
from pathlib import Path

import pytest

from gateway.broker.access.certificates.listener import (
    DAY_SECONDS,
    FILE_BYTES_MAX,
    CertificateError,
    TlsFiles,
    load,
)
from gateway.broker.access.certificates.revocation import issued_of
from tests.broker.access.authority import DAY, Authority, openssl


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "ca")


@pytest.fixture(scope="module")
def served(authority: Authority) -> TlsFiles:
    certificate, key = authority.issue("gateway", alternatives="DNS:gateway,IP:127.0.0.1")
    return TlsFiles(certificate=certificate, key=key)


def test_a_certificate_with_its_key_is_read_with_its_dates(served: TlsFiles) -> None:
    loaded, now = load(served), time.time()
    assert loaded.subject == "gateway"
    assert loaded.days_left(now) == 59
    assert loaded.problem_at(now) is None
    assert loaded.warning_at(now) is None


def test_neither_compression_nor_renegotiation_nor_an_old_version_is_offered(
    served: TlsFiles,
) -> None:
    context = load(served).context
    assert context.options & ssl.OP_NO_COMPRESSION
    assert context.options & ssl.OP_NO_RENEGOTIATION
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    names = {each["name"] for each in context.get_ciphers()}
    assert all(name.startswith(("TLS_", "ECDHE-")) for name in names)
    assert not any("CBC" in name or "SHA1" in name or name.endswith("-SHA") for name in names)


def test_a_certificate_is_warned_of_a_month_before_its_end(served: TlsFiles) -> None:
    loaded, now = load(served), time.time()
    warning = loaded.warning_at(now + 31 * DAY_SECONDS)
    assert warning is not None
    assert "in 28 days: renew it" in warning


@pytest.mark.parametrize(
    ("begins", "ends", "problem"),
    [(-2 * DAY, -DAY, "expired on "), (DAY, 2 * DAY, "not valid before ")],
)
def test_dates_that_are_not_now_are_a_problem_and_do_not_prevent_loading(
    authority: Authority, begins: datetime.timedelta, ends: datetime.timedelta, problem: str
) -> None:
    certificate, key = authority.issue("other-days", begins=begins, ends=ends)
    loaded = load(TlsFiles(certificate=certificate, key=key))
    assert problem in (loaded.problem_at(time.time()) or "")
    assert problem in (loaded.warning_at(time.time()) or "")


def test_the_key_of_another_certificate_is_refused(authority: Authority, served: TlsFiles) -> None:
    _, other = authority.issue("other")
    with pytest.raises(CertificateError, match=r"other\.key: does not belong to the certificate"):
        load(TlsFiles(certificate=served.certificate, key=other))


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o620, 0o666])
def test_a_key_that_others_can_read_or_write_is_refused(authority: Authority, mode: int) -> None:
    certificate, key = authority.issue("open")
    key.chmod(mode)
    with pytest.raises(CertificateError, match=r"open\.key: is a secret.*chmod 600"):
        load(TlsFiles(certificate=certificate, key=key))
    key.chmod(0o640)
    assert load(TlsFiles(certificate=certificate, key=key)).subject == "open"


def test_an_encrypted_key_is_refused_and_nothing_asks_for_its_passphrase(
    authority: Authority, tmp_path: Path
) -> None:
    certificate, key = authority.issue("locked")
    locked = tmp_path / "locked.key"
    openssl("pkey", "-in", key, "-aes256", "-passout", "pass:x", "-out", locked)
    with pytest.raises(CertificateError, match=r"is encrypted.*Run openssl pkey"):
        load(TlsFiles(certificate=certificate, key=locked))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory; name the file, or make a set"),
        (b"\x30\x82\x01\x02", "is not a certificate in PEM"),
        (b"x" * (FILE_BYTES_MAX + 1), "longer than"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "cannot be used: "),
    ],
)
def test_what_is_no_certificate_is_refused_with_the_fix(
    tmp_path: Path, served: TlsFiles, content: bytes | None, message: str
) -> None:
    file = tmp_path / "c.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(CertificateError, match=message) as caught:
        load(TlsFiles(certificate=file, key=served.key))
    assert str(caught.value).startswith(str(file))


def test_a_certificate_in_place_of_the_key_is_refused(served: TlsFiles) -> None:
    with pytest.raises(CertificateError, match="is not a private key in PEM"):
        load(TlsFiles(certificate=served.certificate, key=served.certificate))


def test_a_clients_certificate_does_not_serve(authority: Authority) -> None:
    certificate, key = authority.issue("cellar", client=True)
    with pytest.raises(CertificateError, match="no client would accept it: un"):
        load(TlsFiles(certificate=certificate, key=key))


def test_a_short_rsa_key_is_refused(tmp_path: Path) -> None:
    key, certificate = tmp_path / "k", tmp_path / "c"
    openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:512", "-out", key)
    key.chmod(0o600)
    openssl("req", "-x509", "-new", "-key", key, "-out", certificate, "-subj", "/CN=x")
    with pytest.raises(CertificateError, match="key too small"):
        load(TlsFiles(certificate=certificate, key=key))


def test_a_revocation_list_is_read(authority: Authority, served: TlsFiles) -> None:
    gone, _ = authority.issue("gone", client=True)
    authority.revoke(gone)
    files = TlsFiles(
        certificate=served.certificate,
        key=served.key,
        ca=authority.ca,
        crl=authority.list_revoked(),
        client_certificates="required",
    )
    der = authority.folder / "gone.der"
    openssl("x509", "-in", gone, "-outform", "DER", "-out", der)
    assert load(files).revoked == {issued_of(der.read_bytes())}


@pytest.mark.parametrize("name", ["ca", "crl"])
def test_another_file_in_place_of_an_authority_or_its_list_is_refused(
    authority: Authority, served: TlsFiles, name: str
) -> None:
    files = {"ca": authority.ca, "crl": authority.list_revoked()} | {name: served.key}
    with pytest.raises(CertificateError, match=r"gateway\.key: is not "):
        load(
            TlsFiles(
                certificate=served.certificate,
                key=served.key,
                client_certificates="required",
                ca=files["ca"],
                crl=files["crl"],
            )
        )
