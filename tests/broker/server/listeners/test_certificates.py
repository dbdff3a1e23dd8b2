"""Certificates that change while the broker runs: handshakes, connections, status and log."""

import asyncio
import logging
import os
import shutil
import ssl
import time
from pathlib import Path
from typing import Any

import pytest

from gateway.broker.access.certificates.listener import DAY_SECONDS, CertificateError
from gateway.broker.server.listeners.certificates import Certificates, CertificateWatch
from gateway.broker.server.listeners.making import tls_files_of
from gateway.configuration import Listener
from gateway.configuration.tls import Tls
from tests.broker.access.authority import DAY, Authority
from tests.broker.server.broker import Broker
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import PINGREQ

PLAIN = {"protocol": "mqtt"}
PINGRESP = b"\xd0\x00"


def certificates_of(site: "Site") -> Certificates:
    tls = Tls(certificate=site.certificate, key=site.key)
    return Certificates(tls_files_of(Listener(tls=tls)))


class Site:
    """An authority, and the files of a gateway, which a test can replace."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self.certificate, self.key = folder / "served.pem", folder / "served.key"
        self.crl = self.authority.list_revoked()
        self.renew("first")

    def renew(self, name: str, **dates: Any) -> None:
        """Replace the gateway's certificate and key."""
        made = self.authority.issue(name, alternatives="DNS:gateway", **dates)
        for source, place in zip(made, (self.certificate, self.key), strict=True):
            shutil.copy(source, f"{place}.new")
            os.replace(f"{place}.new", place)

    def tls(self) -> dict[str, Any]:
        """Return the table of a listener that requests client certificates."""
        return {
            "certificate": str(self.certificate),
            "key": str(self.key),
            "ca": str(self.authority.ca),
            "crl": str(self.crl),
            "client_certificates": "optional",
        }

    def client(self, name: str | None = None) -> ssl.SSLContext:
        """Return the TLS context of a client, with a certificate if a name is given."""
        context = ssl.create_default_context(cafile=self.authority.ca)
        if name is not None:
            context.load_cert_chain(*self.authority.issue(name, client=True))
        return context


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "ca")


async def subject_at(broker: Broker, site: Site) -> str:
    """Return the name in the certificate that a new client receives."""
    shown = broker.listeners[0]
    _, writer = await asyncio.open_connection(
        shown["bind"], shown["port"], ssl=site.client(), server_hostname="gateway"
    )
    subject: str = writer.get_extra_info("peercert")["subject"][0][0][1]
    writer.close()
    return subject


def look(broker: Broker, times: int = 2) -> None:
    """Check the files as if time had passed; a change is used at the second check."""
    for _ in range(times):
        broker.running.listening.certificates.stop()
        broker.running.listening.certificates.check_files()


async def test_a_renewed_certificate_is_used_by_new_clients_and_the_others_stay(
    start: Start, site: Site
) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    client = await broker.open(0, site.client())
    assert await client.log_in("a") == 0
    site.renew("second")
    look(broker, times=1)
    assert await subject_at(broker, site) == "first", "it may still be changing"
    look(broker, times=1)
    assert await subject_at(broker, site) == "second"
    client.send(PINGREQ)
    assert await client.packet() == PINGRESP
    assert broker.listeners[0]["certificate"]["subject"] == "second"


async def test_files_that_cannot_be_used_change_nothing_and_are_logged_once(
    start: Start, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    key = site.key.read_bytes()
    site.renew("second")
    site.key.write_bytes(key)
    look(broker, times=4)
    errors = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert len(errors) == 1
    assert "served.key: does not belong to the certificate" in errors[0].getMessage()
    assert "does not belong" in broker.listeners[0]["certificate"]["problem"]
    assert any("does not belong" in each for each in broker.warnings())
    assert await subject_at(broker, site) == "first"
    site.renew("third")
    look(broker)
    assert await subject_at(broker, site) == "third"
    assert broker.listeners[0]["certificate"]["problem"] is None


async def test_an_expired_certificate_does_not_replace_one_that_is_not(
    start: Start, site: Site
) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    site.renew("second", begins=-2 * DAY, ends=-DAY)
    look(broker)
    assert await subject_at(broker, site) == "first"
    assert "expired on" in broker.listeners[0]["certificate"]["problem"]


async def test_an_expired_certificate_is_served_at_the_start_and_warned_of(
    start: Start, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.renew("old", begins=-2 * DAY, ends=-DAY)
    broker = await start({"tls": site.tls()}, PLAIN)
    assert any("expired on" in each.getMessage() for each in caplog.records)
    shown = broker.listeners[0]["certificate"]
    assert (shown["subject"], shown["days_left"]) == ("old", -2)
    watch = broker.running.listening.certificates
    assert not watch.use(watch.load_outdated(watch.all)), (
        "a reload for another reason is not refused"
    )
    context = site.client()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    assert await (await broker.open(0, context)).log_in("a") == 0


async def test_a_new_revocation_list_ends_the_connections_that_it_names(
    start: Start, site: Site
) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    clients = {}
    for name in ("cellar", "roof"):
        clients[name] = await broker.open(0, site.client(name))
        assert await clients[name].log_in(name) == 0
    gone: list[str] = []
    broker.running.event_loop.authentications.user_gone = gone.append
    site.authority.revoke(site.authority.folder / "roof.pem")
    site.authority.list_revoked()
    look(broker)
    assert await clients["roof"].rest() == b""
    assert broker.errors == {"tls_certificate_revoked": 1}
    clients["cellar"].send(PINGREQ)
    assert await clients["cellar"].packet() == PINGRESP
    # The stored session of roof receives nothing now, because no other connection proves the user.
    assert gone == ["roof"]


async def test_a_client_that_is_gone_is_not_kept(start: Start, site: Site) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    client = await broker.open(0, site.client("cellar"))
    assert await client.log_in("a") == 0
    (certificates,) = broker.running.listening.certificates.all
    assert len(certificates.peers) == 1
    client.close()
    await broker.eventually(lambda: not certificates.peers)


async def test_nothing_of_several_listeners_is_used_where_one_cannot_be(
    site: Site, tmp_path: Path
) -> None:
    other = Site(tmp_path / "other")
    watch = CertificateWatch()
    held = [certificates_of(each) for each in (site, other)]
    watch.all = held
    site.renew("second")
    other.key.write_text("")
    with pytest.raises(CertificateError, match=r"served\.key: is not a private key"):
        watch.use(watch.load_outdated(watch.all))
    assert [each.loaded.subject for each in held] == ["first", "first"]
    other.renew("second")
    assert watch.use(watch.load_outdated(watch.all))
    assert [each.loaded.subject for each in held] == ["second", "second"]
    assert not watch.use(watch.load_outdated(watch.all)), "nothing is different"


async def test_the_end_of_a_certificate_is_warned_of_once_a_day(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    days, now = [0.0], time.time()
    watch = CertificateWatch(lambda: now + days[0] * DAY_SECONDS)
    watch.all = [certificates_of(site)]
    watch.start()
    counts = []
    for day in (0, 29, 40, 40.5, 41.1):
        days[0] = day
        watch.stop()
        watch.check_files()
        counts.append(len(caplog.records))
    watch.stop()
    assert counts == [0, 0, 1, 1, 2]
    assert "expires on" in caplog.records[0].getMessage()
