"""Certificates in PEM are compared by their contents, whatever else the files contain."""

from pathlib import Path

from gateway.process.files.pem import certificates_in, digests_in
from tests.broker.access.authority import Authority


def test_a_certificate_is_the_same_however_its_lines_end(tmp_path: Path) -> None:
    first, second = Authority(tmp_path / "a"), Authority(tmp_path / "b")
    found = certificates_in(first.ca)
    assert len(found) == 1
    text = first.ca.read_bytes()
    assert digests_in(b"a comment\n" + text.replace(b"\n", b"\r\n")) == found
    assert digests_in(text + second.ca.read_bytes()) == found | certificates_in(second.ca)
    assert found.isdisjoint(certificates_in(second.ca))


def test_what_is_no_certificate_and_a_file_that_is_not_there_have_none(tmp_path: Path) -> None:
    key = Authority(tmp_path / "a").folder / "ca.key"
    assert digests_in(key.read_bytes()) == frozenset()
    broken = b"-----BEGIN CERTIFICATE-----\n\xff!\n-----END CERTIFICATE-----\n"
    assert digests_in(broken) == frozenset()
    assert certificates_in(tmp_path / "nothing") == frozenset()
