"""The private authority of `oncegate tls`: the broker can use its certificates; no file is lost."""

import ssl
import stat
import time
from pathlib import Path

import pytest

from gateway.broker.access.certificates.listener import TlsFiles, load
from gateway.broker.access.certificates.revocation import issued_of
from gateway.cli.access import authority as module
from gateway.cli.access.authority import Authority, AuthorityError, names_of_this_machine


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path / "new" / "tls")
    assert made.make("test authority")
    return made


def files_of(authority: Authority) -> TlsFiles:
    certificate, key = authority.server
    return TlsFiles(
        certificate=certificate,
        key=key,
        ca=authority.ca,
        crl=authority.crl,
        client_certificates="required",
    )


def test_the_broker_can_serve_with_what_is_made(authority: Authority) -> None:
    assert authority.issue_server(["gateway.example", "192.0.2.1", "::1"], 730)
    loaded = load(files_of(authority))
    assert loaded.subject == "gateway.example"
    assert loaded.days_left(time.time()) == 729
    assert loaded.problem_at(time.time()) is None
    assert not loaded.revoked


def test_keys_are_their_owners_only_and_what_is_public_can_be_read(authority: Authority) -> None:
    authority.issue_server(["gateway.example"], 10)
    authority.issue_client("cellar", 10)
    modes = {
        file.name: stat.S_IMODE(file.stat().st_mode)
        for file in authority.folder.rglob("*")
        if file.suffix in (".key", ".pem") and file.parent.name != "authority"
    }
    assert modes == {
        "ca.pem": 0o644,
        "crl.pem": 0o644,
        "server.pem": 0o644,
        "server.key": 0o600,
        "cellar.pem": 0o644,
        "cellar.key": 0o600,
    }
    own = authority.folder / "authority"
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert stat.S_IMODE((own / "ca.key").stat().st_mode) == 0o600


def test_nothing_that_is_there_is_overwritten_and_a_renewal_keeps_the_key(
    authority: Authority,
) -> None:
    authority.issue_server(["gateway.example"], 10)
    before = {file: file.read_bytes() for file in (authority.ca, *authority.server)}
    assert not authority.make("another")
    assert not authority.issue_server(["other.example"], 10)
    assert {file: file.read_bytes() for file in before} == before
    certificate, key = authority.server
    certificate.rename(certificate.with_suffix(".old"))
    assert authority.issue_server(["gateway.example"], 10)
    assert key.read_bytes() == before[key]
    assert certificate.read_bytes() != before[certificate]
    load(files_of(authority))


def test_a_revoked_client_is_on_the_list(authority: Authority) -> None:
    authority.issue_server(["gateway.example"], 10)
    for name in ("cellar", "roof"):
        assert authority.issue_client(name, 10)
    authority.revoke("roof")
    der = ssl.PEM_cert_to_DER_cert(authority.client("roof")[0].read_text())
    assert load(files_of(authority)).revoked == {issued_of(der)}
    with pytest.raises(AuthorityError, match=r"openssl ca failed: "):
        authority.revoke("roof")
    with pytest.raises(AuthorityError, match="nothing to revoke"):
        authority.revoke("attic")


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a b", ".x", "-x", "x" * 65, "a\n"])
def test_a_name_that_cannot_be_a_file_and_a_user_is_refused(
    authority: Authority, name: str
) -> None:
    with pytest.raises(AuthorityError, match="a client's name has 1 to 64"):
        authority.issue_client(name, 10)


@pytest.mark.parametrize("name", ["", "a,DNS:b", "a b", "x\ny", "-a"])
def test_what_is_no_host_is_refused(authority: Authority, name: str) -> None:
    with pytest.raises(AuthorityError, match="neither a host name nor an IP address"):
        authority.issue_server([name], 10)


def test_without_its_key_an_authority_issues_nothing_and_reports_it(authority: Authority) -> None:
    (authority.folder / "authority" / "ca.key").unlink()
    with pytest.raises(AuthorityError, match=r"ca\.key: is not there: bring the authority's"):
        authority.make("again")


def test_without_the_program_the_fix_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROGRAM", "openssl-that-is-not-there")
    with pytest.raises(AuthorityError, match=r"is not installed\. Run apt install"):
        Authority(tmp_path / "tls").make("test")


def test_this_machine_knows_loopback_and_its_name() -> None:
    names = names_of_this_machine()
    assert {"localhost", "127.0.0.1", "::1"} < set(names)
    assert len(names) == len(set(names))
