"""The page's certificate is checked like that of a listener."""

import datetime
import pickle
import ssl
import time

import pytest

from api.connections.certificate_files import CertificateUnusable
from gateway.cli.services.page_certificate import certificate_of
from gateway.configuration.tls import PageTls
from tests.broker.access.authority import DAY, Authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "ca")


def test_it_can_be_given_to_the_process_of_the_page(authority: Authority) -> None:
    certificate, key = authority.issue("page")
    files = pickle.loads(pickle.dumps(certificate_of(PageTls(certificate=certificate, key=key))))  # noqa: S301
    assert isinstance(files.load().context, ssl.SSLContext)
    assert files.paths == (certificate, key)


def test_a_key_that_others_can_read_is_refused(authority: Authority) -> None:
    certificate, key = authority.issue("open")
    key.chmod(0o644)
    with pytest.raises(CertificateUnusable, match="chmod 600"):
        certificate_of(PageTls(certificate=certificate, key=key)).load()


def test_a_certificate_that_ends_soon_serves_and_warns(authority: Authority) -> None:
    certificate, key = authority.issue("short", ends=5 * DAY + datetime.timedelta(hours=1))
    usable = certificate_of(PageTls(certificate=certificate, key=key)).load()
    warning = usable.warning_at(time.time())
    assert warning is not None
    assert "in 5 days" in warning
    assert "expired" in str(usable.warning_at(time.time() + 10 * 86_400))
