"""Attacks on authentication and authorization: passwords, SCRAM exchanges, tokens, access rules."""

import json
from itertools import cycle
from pathlib import Path
from typing import Final

from tests.instruments.benchmarks.hostile.attack import Attack, Hand, Wire
from tests.instruments.benchmarks.hostile.memory import Allowance
from tests.instruments.benchmarks.hostile.packets import authentication, connect5
from tests.peers.mqtt_bytes import connect, publish, subscribe

GUESSERS: Final = 5
"""Addresses from which passwords are guessed. The broker slows each address down separately."""
SCRAM_ADDRESS: Final = 20
TOKEN_ADDRESS: Final = 10
EXCHANGES: Final = 560


class OpenExchanges(Attack):
    """SCRAM exchanges that are begun and never completed."""

    name = "incomplete SCRAM exchanges"
    sentence = (
        "1,000 CONNECTs, 300 per second and about 560 of them from one address, that each start a "
        "SCRAM exchange with a nonce of 512 characters and never complete it."
    )
    allowance = Allowance(connections=1_000, bounds=("authentication exchanges",))
    counters = ("server_busy",)

    async def run(self, hand: Hand) -> None:
        """Begin an exchange on each connection, and leave it open."""
        async for number in hand.paced(300, 1_000, whole=True):
            address = SCRAM_ADDRESS + (number - EXCHANGES if number > EXCHANGES else 0)
            wire = await hand.stranger(hand.target.guarded_port, address=address)
            if wire is not None:
                first = f"n,,n=user{number},r=".encode() + b"n" * 512
                method = authentication("SCRAM-SHA-256", first)
                wire.send(connect5(f"scram{number}", properties=method))
        await hand.rest()


class WrongPasswords(Attack):
    """Wrong passwords. Each costs the broker some 50 ms of a core, and the client 29 bytes."""

    name = "wrong passwords"
    sentence = (
        "2,000 CONNECTs with a wrong password, 600 per second, from five addresses. Half of them "
        "name the same existing user."
    )
    allowance = Allowance(connections=2_000, bounds=("password checks",))
    counters = ("login_delayed",)

    async def run(self, hand: Hand) -> None:
        """Send each password without waiting for a response."""
        async for number in hand.paced(600, 2_000):
            wire = await hand.stranger(hand.target.guarded_port, address=number % GUESSERS)
            if wire is not None:
                name = "known" if number % 2 else f"unknown{number}"
                wire.send(connect(f"guess{number}", username=name, password=b"%d" % number))
        await hand.rest()


class WrongTokens(Attack):
    """Invalid tokens of an identity provider."""

    name = "invalid tokens"
    sentence = (
        "100 CONNECTs per second from five addresses, each with an invalid token: expired, for "
        "another service, signed with another key or with the public key, unsigned, nested 45,000 "
        "levels deep, or 60 kB of dots."
    )
    allowance = Allowance(connections=200, bounds=("password checks",))
    counters = ("bad_user_name_or_password", "not_authorized")

    async def run(self, hand: Hand) -> None:
        """Send one token after the other."""
        tokens = cycle(json.loads((Path(hand.target.folder) / "tokens.json").read_text()))
        async for number in hand.paced(100):
            address = TOKEN_ADDRESS + number % GUESSERS
            wire = await hand.stranger(hand.target.guarded_port, address=address)
            if wire is not None:
                token = next(tokens).encode()
                wire.send(connect(f"token{number % 64}", username="honest", password=token))


class Forbidden(Attack):
    """Requests that access rules deny, repeated many times."""

    name = "forbidden topics"
    sentence = (
        "10 clients that together publish 250 messages per second to topics that the access rules "
        "deny, and subscribe to each of these topics."
    )
    allowance = Allowance(connections=10)
    counters = ("publish_not_authorized",)

    async def run(self, hand: Hand) -> None:
        """Publish and subscribe to forbidden topics."""
        wires: list[Wire] = [await hand.client(f"forbidden{each}") for each in range(10)]
        async for number in hand.paced(250):
            topic = f"forbidden/{number}"
            wire = wires[number % len(wires)]
            wire.send(publish(topic, b"x", qos=1, packet_id=1) + subscribe(2, (topic, 1)))
