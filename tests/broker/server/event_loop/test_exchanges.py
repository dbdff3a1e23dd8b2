"""Authentication exchanges: which one is dropped when too many are open, and many wrong logins."""

import asyncio
from collections.abc import Sequence

import pytest

import gateway.broker.access.logins.guesses as guesses_module
import gateway.broker.server.event_loop.exchanges as exchanges_module
from gateway.broker.access.authentication import Authenticator
from gateway.broker.access.logins.guesses import FREE_FAILURES
from gateway.broker.access.logins.login import Login
from gateway.broker.access.passwords.file import PasswordFile
from gateway.broker.access.passwords.worker import PasswordHash
from gateway.broker.access.passwords.workers import PasswordWorkers
from gateway.broker.access.users.file import FileUsers
from gateway.broker.core.sessions.connection import Connection, ConnectionState
from gateway.broker.server.event_loop.exchanges import EXCHANGES_OF_AN_ADDRESS_MAX, Exchanges
from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.packets import Connack, Connect
from tests.broker.access.scram_client import ScramClient
from tests.broker.server.event_loop.authenticating import Broker, alice
from tests.peers.packet_client import PacketClient

GUESSES = 900
BEHIND_A_PROXY = {
    "listeners": [
        {"port": 0, "anonymous": False, "proxy_protocol": True},
        {"port": 0, "anonymous": False},
    ]
}


class Open:
    """Open exchanges, each with a name for the test."""

    def __init__(self) -> None:
        self.exchanges = Exchanges()
        self._authenticator = Authenticator([FileUsers(PasswordFile({}), bytes(32))])
        self._names: dict[Connection, str] = {}

    def add(self, origin: str, name: str, *, is_in: bool = False) -> str | None:
        """Open an exchange; return the name of the exchange that was dropped for it, or None."""
        other = self.exchanges.connection_to_close(origin)
        if other is not None:
            self.exchanges.forget(other)
        connection = Connection(f"{origin}:1", Decoder(100), False, 0.0)
        if is_in:
            connection.state = ConnectionState.CONNECTED
        self._names[connection] = name
        deadline = asyncio.get_running_loop().call_later(60, int)
        exchange = self._authenticator.begin("SCRAM-SHA-256", Login(""))
        self.exchanges.add(connection, exchange, origin, deadline)
        assert self.exchanges.get(connection) is exchange
        return None if other is None else self._names[other]

    def close(self) -> None:
        self.exchanges.clear()
        assert len(self.exchanges) == 0
        self._authenticator.close()


async def test_the_oldest_of_the_address_that_has_most_goes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchanges_module, "EXCHANGES_MAX", 4)
    opened = Open()
    assert [opened.add("a", name) for name in ("a1", "a2", "a3")] == [None, None, None]
    assert opened.add("b", "b1") is None
    assert opened.add("b", "b2") == "a1"
    assert opened.add("b", "b3") == "b1", "of two that have as many, the one that wants more"
    assert opened.add("c", "c1") in ("a2", "b2")
    opened.close()


async def test_an_address_has_half_of_all_and_replaces_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchanges_module, "EXCHANGES_OF_AN_ADDRESS_MAX", 2)
    opened = Open()
    assert [opened.add("a", name) for name in ("a1", "a2", "a3")] == [None, None, "a1"]
    assert opened.add("b", "b1") is None
    opened.close()


async def test_a_client_that_is_in_keeps_its_exchange_longest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchanges_module, "EXCHANGES_MAX", 2)
    opened = Open()
    assert opened.add("a", "in", is_in=True) is None
    assert opened.add("a", "new") is None
    assert opened.add("b", "b1") == "new"
    opened.close()


# -- over real sockets


async def open_from(broker: Broker, address: str) -> PacketClient:
    """Connect through the PROXY protocol, as a client from this address."""
    client = await broker.open()
    client.send_bytes(f"PROXY TCP4 {address} 10.0.0.1 40000 1883\r\n".encode())
    return client


def login(username: str, password: bytes) -> Connect:
    return Connect(5, "", True, 0, None, username, password)


@pytest.mark.parametrize("broker", [BEHIND_A_PROXY], indirect=True)
async def test_beside_900_wrong_logins_a_right_one_from_elsewhere_waits_for_two_checks_at_most(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified: list[bytes] = []
    matches = PasswordWorkers.matches

    async def counting(
        workers: PasswordWorkers, hashes: Sequence[PasswordHash], password: bytes
    ) -> list[bool]:
        verified.append(password)
        return await matches(workers, hashes, password)

    monkeypatch.setattr(PasswordWorkers, "matches", counting)
    guessers = [await open_from(broker, "192.0.2.66") for _ in range(GUESSES)]
    for number, guesser in enumerate(guessers):
        guesser.send(login("alice", b"%d" % number))
    while not verified:  # noqa: ASYNC110 - no event for it
        await asyncio.sleep(0.001)
    async with await open_from(broker, "192.0.2.7") as honest:
        before = len(verified)
        honest.send(login("alice", b"secret"))
        connack = await honest.receive()
        assert isinstance(connack, Connack)
        assert connack.reason_code == 0
        # Checks that were already running, and the same number that may have begun before.
        assert verified.index(b"secret") - before <= 2 * 2
    for guesser in guessers:
        guesser.cut()


@pytest.mark.parametrize("broker", [BEHIND_A_PROXY], indirect=True)
async def test_1000_open_exchanges_of_an_address_leave_the_others_theirs(broker: Broker) -> None:
    idle = [await open_from(broker, "192.0.2.66") for _ in range(1_000)]
    first = alice().first()
    for client in idle:
        client.connect(first, client_id="")
    while broker.exchange_count < EXCHANGES_OF_AN_ADDRESS_MAX:  # noqa: ASYNC110 - no event for it
        await asyncio.sleep(0)
    async with await open_from(broker, "192.0.2.7") as honest:
        await honest.log_in(alice(), client_id="honest")
    assert broker.errors == {"server_busy": 500}, "the oldest of its own went"
    for client in idle:
        client.cut()
    await broker.quiet()


async def test_proofs_that_are_wrong_again_and_again_are_delayed_and_counted(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guesses_module, "DELAY_SECONDS_FIRST", 1.0)
    for number in range(FREE_FAILURES + 2):
        scram = ScramClient("alice", "wrong", f"nonce-{number}")
        async with await broker.open() as client:
            client.connect(scram.first())
            client.auth(0x18, scram.final(await client.challenge()))
            assert await client.ending() == 0x86
    assert broker.errors == {"bad_user_name_or_password": FREE_FAILURES + 2, "login_delayed": 1}
