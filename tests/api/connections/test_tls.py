"""The page over HTTPS: browsers, clients that send HTTP, and incomplete handshakes."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from api import limits
from api.connections.certificate_files import CertificateUnusable
from api.login.admission import COOKIE, FORM_COOKIE
from gateway.cli.services.page_certificate import certificate_of
from gateway.configuration.tls import PageTls
from tests.api.conftest import DEADLINE_SECONDS, serving
from tests.api.contract_broker import ContractBroker
from tests.api.logging_in import ROLES, USERS, is_in, log_in
from tests.broker.access.authority import Authority

HALF_OPEN = 500


class Site:
    """A private authority, and the page's certificate from it."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        certificate, key = self.authority.issue("page", alternatives="IP:127.0.0.1")
        self.tls = PageTls(certificate=certificate, key=key)

    def client(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.authority.ca)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("tls") / "ca")


@asynccontextmanager
async def secured(
    site: Site, broker: ContractBroker, status_socket: Path
) -> AsyncIterator[httpx.AsyncClient]:
    """Run a page with HTTPS and users, and yield a browser for it."""
    broker.users = dict(USERS)
    settings = {"certificate": certificate_of(site.tls), "roles": ROLES}
    async with (
        serving(status_socket, **settings) as url,
        httpx.AsyncClient(base_url=url, timeout=DEADLINE_SECONDS, verify=site.client()) as browser,
    ):
        assert url.startswith("https://")
        yield browser


async def test_a_login_over_https_has_cookies_that_never_leave_it(
    site: Site, broker: ContractBroker, status_socket: Path
) -> None:
    async with secured(site, broker, status_socket) as browser:
        form = await browser.get("/login")
        assert form.headers["set-cookie"].startswith(f"__Host-{FORM_COOKIE}=")
        answer = await log_in(browser)
        assert answer.status_code == 303
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"__Host-{COOKIE}=")
        for word in ("; Secure", "; HttpOnly", "; SameSite=strict", "; Path=/"):
            assert word in cookie
        assert await is_in(browser)
        value = cookie.partition("=")[2].partition(";")[0]
        browser.cookies.clear()
        planted = {"Cookie": f"{COOKIE}={value}"}
        assert (await browser.get("/", headers=planted)).status_code == 303, (
            "a cookie that another origin of this host could have set does not count"
        )
        foreign = await log_in(browser, origin=str(browser.base_url).replace("https", "http"))
        assert foreign.status_code == 403, "a page that came over HTTP sends no form here"


async def test_large_answers_and_many_requests_come_whole(
    site: Site, broker: ContractBroker, status_socket: Path
) -> None:
    async with secured(site, broker, status_socket) as browser:
        await log_in(browser)
        for _ in range(20):
            answers = await asyncio.gather(browser.get("/docs"), browser.get("/openapi.json"))
            assert [each.status_code for each in answers] == [200, 200]
            assert answers[0].text.rstrip().endswith("</html>")


async def test_a_browser_that_speaks_http_is_answered_in_http(
    site: Site, broker: ContractBroker, status_socket: Path
) -> None:
    async with secured(site, broker, status_socket) as browser:
        async with httpx.AsyncClient() as plain:
            answer = await plain.get(str(browser.base_url).replace("https", "http"))
        assert answer.status_code == 400
        assert "https://" in answer.text
        assert (await browser.get("/healthz")).status_code == 200


@pytest.mark.parametrize("sent", [b"\x16", b"\x16\x03\x01\x02\x00\x01", b"\x16" + bytes(5_000)])
async def test_what_is_no_handshake_ends_and_the_next_visitor_is_served(
    site: Site,
    broker: ContractBroker,
    status_socket: Path,
    monkeypatch: pytest.MonkeyPatch,
    sent: bytes,
) -> None:
    async with secured(site, broker, status_socket) as browser:
        monkeypatch.setattr(limits, "HEAD_SECONDS_MAX", 0.2)
        reader, writer = await asyncio.open_connection(browser.base_url.host, browser.base_url.port)
        writer.write(sent)
        rest = await asyncio.wait_for(reader.read(), DEADLINE_SECONDS)
        assert len(rest) < 100, "an alert at the most"
        writer.close()
        # The next visitor has the usual time limit, because this machine may be busy.
        monkeypatch.undo()
        assert (await browser.get("/healthz")).status_code == 200


async def test_handshakes_of_one_address_that_never_end_make_no_other_wait(
    site: Site, broker: ContractBroker, status_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No handshake reaches its deadline, so a visitor who had to wait for a place would never get
    # one.
    monkeypatch.setattr(limits, "HEAD_SECONDS_MAX", 10 * DEADLINE_SECONDS)
    async with secured(site, broker, status_socket) as browser:
        address = browser.base_url
        half: list[asyncio.StreamWriter] = []
        for number in range(HALF_OPEN):
            _, writer = await asyncio.open_connection(
                address.host, address.port, local_addr=("127.0.0.2", 0)
            )
            if number % 2:
                writer.write(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
            half.append(writer)
        for _ in range(10):
            async with httpx.AsyncClient(
                base_url=address, verify=site.client(), timeout=DEADLINE_SECONDS
            ) as other:
                assert (await other.get("/healthz")).status_code == 200
        for writer in half:
            writer.close()


async def test_a_visitor_that_ends_tls_leaves_nothing(
    site: Site, broker: ContractBroker, status_socket: Path
) -> None:
    async with secured(site, broker, status_socket) as browser:
        address = browser.base_url
        reader, writer = await asyncio.open_connection(
            address.host, address.port, ssl=site.client()
        )
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"alive" in await asyncio.wait_for(reader.readuntil(b"}"), DEADLINE_SECONDS)
        writer.close()
        await asyncio.wait_for(writer.wait_closed(), DEADLINE_SECONDS)
        assert (await browser.get("/healthz")).status_code == 200


async def test_a_certificate_that_is_no_use_is_named_before_anything_listens(
    site: Site, tmp_path: Path, status_socket: Path
) -> None:
    missing = PageTls(certificate=tmp_path / "missing.pem", key=site.tls.key)
    with pytest.raises(CertificateUnusable, match=r"missing\.pem"):
        async with serving(status_socket, certificate=certificate_of(missing)):
            pytest.fail("it must not start")
