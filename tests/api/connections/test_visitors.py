"""Visitors who keep a connection when the number of connections reaches its limit."""

import asyncio
from pathlib import Path

import httpx
import pytest

from api import limits
from api.connections.visitors import Visitors
from tests.api.conftest import DEADLINE_SECONDS, serving
from tests.api.contract_broker import ContractBroker

HALF_REQUESTS = 300
HONEST_REQUESTS = 50


class Held:
    """A connection that records whether it was closed."""

    def __init__(self) -> None:
        self.is_away = False

    def close_to_make_room(self) -> None:
        self.is_away = True


def admitted(visitors: Visitors, host: str, now: float) -> Held:
    held = Held()
    assert visitors.admit(held, host, now)
    return held


def test_a_newcomer_takes_the_place_of_the_one_that_waited_longest_without_a_request() -> None:
    visitors = Visitors()
    waiting = [
        admitted(visitors, f"192.0.2.{index}", index)
        for index in range(limits.NETWORK_CONNECTIONS_MAX)
    ]
    visitors.request_received(waiting[0], 200.0)
    visitors.requests_answered(waiting[0], 201.0)
    admitted(visitors, "198.51.100.1", 202.0)
    assert [held.is_away for held in waiting[:3]] == [False, True, False]


def test_one_address_beyond_its_share_displaces_only_itself() -> None:
    visitors = Visitors()
    other = admitted(visitors, "192.0.2.1", 0.0)
    held = [
        admitted(visitors, "192.0.2.2", 1.0) for _ in range(limits.CONNECTIONS_PER_ADDRESS_MAX + 5)
    ]
    assert not other.is_away
    assert sum(one.is_away for one in held) == 5


def test_addresses_of_one_ipv6_subnet_are_one_address() -> None:
    visitors = Visitors()
    held = [
        admitted(visitors, f"2001:db8::{index:x}", 1.0)
        for index in range(limits.CONNECTIONS_PER_ADDRESS_MAX + 5)
    ]
    assert sum(one.is_away for one in held) == 5
    admitted(visitors, "2001:db8:0:1::1", 2.0)
    assert sum(one.is_away for one in held) == 5


@pytest.mark.parametrize("loopback", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_a_crowd_from_the_network_takes_no_place_of_loopback(loopback: str) -> None:
    visitors = Visitors()
    local = admitted(visitors, loopback, 0.0)
    for index in range(300):
        admitted(visitors, f"10.0.{index // 250}.{index % 250}", 1.0)
    assert not local.is_away


def test_who_is_being_answered_keeps_the_place_and_a_newcomer_is_refused() -> None:
    visitors = Visitors()
    held = [
        admitted(visitors, "127.0.0.1", 0.0)
        for _ in range(limits.LOOPBACK_CONNECTIONS_PER_ADDRESS_MAX)
    ]
    for one in held:
        visitors.request_received(one, 1.0)
    assert not visitors.admit(Held(), "127.0.0.1", 2.0)
    # A visitor who has not read a response for this time is no longer protected either.
    assert visitors.admit(Held(), "127.0.0.1", 1.5 + limits.ANSWERING_SECONDS_PROTECTED)
    assert sum(one.is_away for one in held) == 1


def test_a_place_is_free_again_when_its_visitor_has_left() -> None:
    visitors = Visitors()
    held = [
        admitted(visitors, "127.0.0.1", 0.0)
        for _ in range(limits.LOOPBACK_CONNECTIONS_PER_ADDRESS_MAX)
    ]
    visitors.left(held[0])
    admitted(visitors, "127.0.0.1", 1.0)
    assert not any(one.is_away for one in held)


def test_an_address_of_loopback_beyond_its_share_displaces_only_itself() -> None:
    visitors = Visitors()
    proxy = admitted(visitors, "127.0.0.1", 0.0)
    held = [
        admitted(visitors, "127.0.0.2", 1.0)
        for _ in range(limits.LOOPBACK_CONNECTIONS_PER_ADDRESS_MAX + 5)
    ]
    assert not proxy.is_away
    assert sum(one.is_away for one in held) == 5


async def test_300_half_requests_keep_no_honest_visitor_out(
    status_socket: Path, broker: ContractBroker
) -> None:
    async with serving(status_socket) as url:
        address = httpx.URL(url)
        half: list[asyncio.StreamWriter] = []
        for _ in range(HALF_REQUESTS):
            _, writer = await asyncio.open_connection(address.host, address.port)
            writer.write(b"GET / HTTP/1.1\r\nHost: loc")
            half.append(writer)
        await ask_as_honest_visitors(url)
        for writer in half:
            writer.close()


async def test_500_half_requests_of_one_address_make_no_other_wait(
    status_socket: Path, broker: ContractBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No half request reaches its deadline, so a visitor who had to wait for a place would never get
    # one.
    monkeypatch.setattr(limits, "HEAD_SECONDS_MAX", 10 * DEADLINE_SECONDS)
    async with serving(status_socket) as url:
        address = httpx.URL(url)
        half: list[asyncio.StreamWriter] = []
        async with httpx.AsyncClient(base_url=url, timeout=DEADLINE_SECONDS) as before:
            assert (await before.get("/readyz")).status_code == 200
            for number in range(500):
                _, writer = await asyncio.open_connection(
                    address.host, address.port, local_addr=("127.0.0.2", 0)
                )
                # One third sends nothing, one third half a head, and one third a head without its
                # body.
                if number % 3:
                    writer.write(b"POST /login HTTP/1.1\r\nHost: localhost\r\n")
                if number % 3 == 2:
                    writer.write(b"Content-Length: 9\r\n\r\n")
                half.append(writer)
            await ask_as_honest_visitors(url)
            assert (await before.get("/readyz")).status_code == 200, "the connection is kept"
        for writer in half:
            writer.close()


async def ask_as_honest_visitors(url: str) -> None:
    """Send requests, each on a new connection. Asserts that every request is answered."""
    for _ in range(HONEST_REQUESTS):
        async with httpx.AsyncClient(timeout=DEADLINE_SECONDS) as client:
            response = await client.get(url + "readyz")
            assert response.status_code == 200, response.text
