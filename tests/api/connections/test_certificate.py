"""Reloads of the page's certificate, and the effect of a mistake in its file."""

import logging
import ssl
import time
from pathlib import Path

import pytest

from api.connections.certificate import (
    CHECK_SECONDS,
    SETTLE_SECONDS,
    WARNINGS_SECONDS,
    ServedCertificate,
)
from api.connections.certificate_files import (
    CertificateFiles,
    CertificateUnusable,
    UsableCertificate,
)


class Files:
    """The files of a certificate and its key. Their content decides whether loading succeeds."""

    def __init__(self, folder: Path) -> None:
        self.paths = (folder / "server.pem", folder / "server.key")
        self.reads = 0
        self.warning: str | None = None
        self.write("one")

    def write(self, content: str) -> None:
        for path in self.paths:
            path.unlink(missing_ok=True)
            path.write_text(content)

    def load(self) -> UsableCertificate:
        self.reads += 1
        if not self.paths[0].exists() or self.paths[0].read_text() == "oops":
            raise CertificateUnusable("server.pem: cannot be used")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        return UsableCertificate(context, lambda _: self.warning, "gateway", time.time() + 90_000)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def served(files: Files) -> ServedCertificate:
    return ServedCertificate(CertificateFiles(files.paths, files.load))


def test_other_files_are_read_once_they_change_no_more(files: Files) -> None:
    certificate = served(files)
    first = certificate.context
    certificate.check(0.0)
    files.write("two")
    certificate.check(CHECK_SECONDS / 2)
    assert files.reads == 1, "the disk is asked once a minute"
    certificate.check(CHECK_SECONDS)
    files.write("two, with its key")
    certificate.check(CHECK_SECONDS + SETTLE_SECONDS)
    assert certificate.context is first
    certificate.check(CHECK_SECONDS + 2 * SETTLE_SECONDS)
    assert certificate.context is not first
    certificate.check(10 * CHECK_SECONDS)
    assert files.reads == 2


def test_files_that_cannot_be_used_change_nothing_and_are_logged_once(
    files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    certificate = served(files)
    first = certificate.context
    files.write("oops")
    for minute in range(1, 9):
        certificate.check(minute * CHECK_SECONDS)
    assert certificate.context is first
    errors = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert len(errors) == 1
    assert "server.pem: cannot be used" in errors[0].message
    assert certificate.problem == errors[0].message
    files.paths[0].unlink()
    for minute in range(10, 12):
        certificate.check(minute * CHECK_SECONDS)
    assert certificate.context is first


def test_one_that_ends_soon_is_a_line_each_day(
    files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    certificate = served(files)
    assert certificate.problem is None
    files.warning = "server.pem: expires in 5 days"
    for minute in range(3 * 24 * 60):
        certificate.check(minute * CHECK_SECONDS)
    assert certificate.problem == files.warning
    assert [each.message for each in caplog.records] == [files.warning] * 3
    assert WARNINGS_SECONDS == 24 * 3600


def test_without_a_usable_certificate_nothing_starts(files: Files) -> None:
    files.write("oops")
    with pytest.raises(CertificateUnusable):
        served(files)


def test_its_state_is_described_like_those_of_listeners(files: Files) -> None:
    state = served(files).state
    assert (state.subject, state.days_left, state.problem, state.unused) == (
        "gateway",
        1,
        None,
        False,
    )
