"""Credentials and settings of one tenant give no access to another: tokens, uplinks, hooks,
mistakes in tables."""

import asyncio
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http import HTTPStatus

import pytest

from gateway.process.control.messages import Refused
from tests.peers.byte_client import ByteClient
from tests.system.two_tenants import DEADLINE_SECONDS, TENANTS, TwoTenants


@pytest.fixture(scope="module")
def tenants() -> Iterator[TwoTenants]:
    found = TwoTenants(have_all=True)
    try:
        yield found
    finally:
        found.remove()


def _status_of_page(tenants: TwoTenants, page: str, token: str) -> int:
    url = f"http://127.0.0.1:{tenants.ports[f'{page}_page']}/api/v1/status"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
                return int(answer.status)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code != HTTPStatus.SERVICE_UNAVAILABLE:  # The page's broker is being started.
                return error.code
        except urllib.error.URLError:
            pass  # The page itself is being started.
        assert time.monotonic() < deadline, tenants.output()
        time.sleep(0.2)


def test_a_token_of_one_tenants_rest_interface_opens_no_others(tenants: TwoTenants) -> None:
    for page in TENANTS:
        for owner in TENANTS:
            expected = HTTPStatus.OK if owner == page else HTTPStatus.UNAUTHORIZED
            assert _status_of_page(tenants, page, tenants.tokens[owner]) == expected


def _wait_for_uplinks(tenants: TwoTenants) -> None:
    """Wait until each uplink has subscribed at both brokers.

    Messages published before are not carried.
    """
    deadline = time.monotonic() + DEADLINE_SECONDS
    for tenant, count in ((None, 2), *((name, 1) for name in TENANTS)):
        while tenants.ask(tenant, "status")["subscriptions"] < count:
            assert time.monotonic() < deadline, tenants.output()
            time.sleep(0.1)


async def _opened(tenants: TwoTenants) -> dict[str, ByteClient]:
    """Return a client of each tenant that receives the messages from the tenant's uplink."""
    await asyncio.to_thread(_wait_for_uplinks, tenants)
    of = {name: await tenants.client(name, "ends") for name in TENANTS}
    for client in of.values():
        await client.subscribe(("up/#", 1))
    return of


async def test_an_uplink_carries_and_a_hook_sees_what_its_own_tenant_has_alone(
    tenants: TwoTenants,
) -> None:
    of = await _opened(tenants)
    upstream = await tenants.open("top")
    await upstream.connect("upstream")
    await upstream.subscribe(("+/up/#", 1))
    for name, client in of.items():
        await client.deliver("up/from", f"{name}'s".encode(), qos=1)
        assert (await client.take()).payload == f"{name}'s".encode()  # The message published here.
        came = await upstream.take()
        assert (came.topic, came.payload) == (f"{name}/up/from", f"{name}'s".encode())
    for name in TENANTS:
        await upstream.deliver(f"{name}/up/to", f"to {name}".encode(), qos=1)
        while (came := await upstream.take()).topic != f"{name}/up/to":
            pass
    for name, client in of.items():
        came = await client.take()
        assert (came.topic, came.payload) == ("up/to", f"to {name}".encode())
        await client.deliver("up/last", b"last", qos=1)
        assert await client.take_payloads_until(b"last") == []
    await asyncio.to_thread(_wait_for_hooks, tenants)
    for name, other in (TENANTS, reversed(TENANTS)):
        seen = (tenants.directory / f"{name}.published").read_text()
        assert f"up/from {name}'s" in seen
        assert f"up/to to {name}" in seen
        assert other not in seen


def _wait_for_hooks(tenants: TwoTenants) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    files = [tenants.directory / f"{name}.published" for name in TENANTS]
    while not all(file.exists() and "up/last" in file.read_text() for file in files):
        assert time.monotonic() < deadline, tenants.output()
        time.sleep(0.1)


async def test_a_mistake_in_one_tenants_tables_changes_nothing_of_any_tenant(
    tenants: TwoTenants,
) -> None:
    stays = {name: await tenants.client(name, "stays") for name in TENANTS}
    text = tenants.configuration.read_text()
    wrong = text.replace("max_retained = 2", 'max_retained = "many"')
    # The valid line in beta's table does not take effect either, and the mistake is reported to
    # every tenant.
    wrong += "[tenants.beta.mqtt]\nmax_inflight = 7\n"
    tenants.configuration.write_text(wrong)
    try:
        for asked in (None, *TENANTS):
            with pytest.raises(Refused, match=r"\[tenants\.acme\.mqtt\] max_retained"):
                tenants.ask(asked, "reload")
    finally:
        tenants.configuration.write_text(text)
    for name, client in stays.items():
        await client.ping()
        assert tenants.ask(name, "reload")["changed"] == []
