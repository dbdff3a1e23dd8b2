"""Connections end when the certificate of the client, or its authority, is no longer valid."""

import datetime
import os
import ssl
import time
from pathlib import Path
from typing import Any

import pytest

from tests.broker.access.authority import Authority
from tests.broker.server.conftest import Start
from tests.broker.server.listeners.test_certificates import PINGRESP, PLAIN, Site, look
from tests.peers.mqtt_bytes import PINGREQ

HOUR = datetime.timedelta(hours=1)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "ca")


def context_of(site: Site, pair: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=site.authority.ca)
    context.load_cert_chain(*pair)
    return context


def replace(file: Path, *parts: Path) -> None:
    new = file.with_name(f"{file.name}.new")
    new.write_bytes(b"".join(part.read_bytes() for part in parts))
    os.replace(new, file)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_client_whose_authority_is_taken_out_is_ended_and_the_others_stay(
    start: Start, site: Site, tmp_path: Path, version: ssl.TLSVersion
) -> None:
    other = Authority(tmp_path / "other", "another authority")
    trusted = tmp_path / "trusted.pem"
    replace(trusted, site.authority.ca, other.ca)
    tls: dict[str, Any] = site.tls() | {"ca": str(trusted)}
    del tls["crl"]
    broker = await start({"tls": tls}, PLAIN)
    clients = {}
    for name, issuer in (("stays", site.authority), ("goes", other)):
        context = context_of(site, issuer.issue(name, client=True))
        context.maximum_version = version
        clients[name] = await broker.open(0, context)
        assert await clients[name].log_in(name) == 0
    replace(trusted, site.authority.ca)
    look(broker)
    assert await clients["goes"].rest() == b""
    assert broker.errors == {"tls_authority_withdrawn": 1}
    clients["stays"].send(PINGREQ)
    assert await clients["stays"].packet() == PINGRESP


async def test_an_authority_that_comes_beside_the_others_ends_nothing(
    start: Start, site: Site, tmp_path: Path
) -> None:
    other = Authority(tmp_path / "other", "another authority")
    trusted = tmp_path / "trusted.pem"
    replace(trusted, site.authority.ca)
    broker = await start({"tls": site.tls() | {"ca": str(trusted)}}, PLAIN)
    client = await broker.open(0, site.client("cellar"))
    assert await client.log_in("a") == 0
    replace(trusted, other.ca, site.authority.ca)
    look(broker)
    client.send(PINGREQ)
    assert await client.packet() == PINGRESP


async def test_a_connection_ends_with_its_client_s_certificate(start: Start, site: Site) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    clients = {}
    for name, ends in (("long", 3 * HOUR), ("short", HOUR)):
        pair = site.authority.issue(name, client=True, ends=ends)
        clients[name] = await broker.open(0, context_of(site, pair))
        assert await clients[name].log_in(name) == 0
    watch = broker.running.listening.certificates
    look(broker)
    assert broker.errors == {}
    now = time.time()
    watch._clock = lambda: now + 2 * 3_600
    look(broker, times=1)
    assert await clients["short"].rest() == b""
    assert broker.errors == {"credentials_expired": 1}
    clients["long"].send(PINGREQ)
    assert await clients["long"].packet() == PINGRESP
    assert watch._timer is not None
    watch._clock = lambda: now + 3 * 3_600 - 5
    look(broker, times=1)
    assert watch._timer.when() - watch._loop.time() <= 5, "it looks again when the next one ends"
