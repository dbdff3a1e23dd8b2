"""Attacks with sessions that clients leave behind, and with exchanges that they never finish."""

from collections import deque
from typing import Final

from tests.instruments.benchmarks.hostile.attack import Attack, Hand, Wire
from tests.instruments.benchmarks.hostile.memory import Allowance
from tests.instruments.benchmarks.hostile.packets import connect5, session_expiry, subscribe5
from tests.peers.mqtt_bytes import Will, connect, publish

WILL_BYTES: Final = 60_000
HELD_BYTES: Final = 2_000
LINGERING: Final = 100
"""Newest connections that are not cut yet, so that the broker reads what they sent."""
SUBSCRIBE5: Final = subscribe5(1, "attack/left")


class Wills(Attack):
    """Clients that are cut so that the broker publishes their wills."""

    name = "large wills"
    sentence = (
        "50 clients per second that connect with a retained QoS 1 will of 60 kB and abort the "
        "connection immediately."
    )
    allowance = Allowance(connections=8, bounds=("wills", "retained messages"))

    async def run(self, hand: Hand) -> None:
        """Connect with a will, and cut the connection."""
        async for number in hand.paced(50):
            will = Will(f"attack/will/{number}", bytes(WILL_BYTES), 1, retain=True)
            wire = await hand.connected(connect(f"will{number}", will=will))
            wire.cut()


class Hoarders(Attack):
    """QoS 2 messages that the broker must keep, because their PUBREL never arrives."""

    name = "QoS 2 messages without PUBREL"
    sentence = (
        "50 persistent sessions that each send 110 QoS 2 messages of 2 kB, 1,750 per second in "
        "all, and never send PUBREL."
    )
    allowance = Allowance(connections=50, sessions=50, bounds=("unreleased QoS 2 messages",))
    counters = ("max_awaiting_rel",)

    async def run(self, hand: Hand) -> None:
        """Publish up to the limit and wait."""
        wires = [
            await hand.client(f"hoarder{number}", clean=False) for number in range(hand.some(50))
        ]
        payload = bytes(HELD_BYTES)
        async for number in hand.paced(35, 110, whole=True):
            for wire in wires:
                wire.send(publish("attack/held", payload, qos=2, packet_id=number + 1))
        await hand.rest()


class TakeoverStorm(Attack):
    """Many clients that take over one session from each other."""

    name = "session takeovers"
    sentence = (
        "200 connections per second with the same client identifier and a persistent session."
    )
    allowance = Allowance(connections=200)
    counters = ("flapping",)

    async def run(self, hand: Hand) -> None:
        """Connect again and again with one client identifier."""
        async for _ in hand.paced(200):
            wire = await hand.stranger()
            if wire is not None:
                wire.send(connect("contested", clean=False))


class SessionChurn(Attack):
    """Abandoned sessions, until the broker has no room for more."""

    name = "sessions with random client identifiers"
    sentence = (
        "1,200 new persistent sessions, 400 per second, of anonymous clients that each subscribe "
        "to a topic and close the connection."
    )
    allowance = Allowance(connections=100, sessions=1_200)
    counters = ("anonymous_sessions",)

    async def run(self, hand: Hand) -> None:
        """Open sessions, subscribe and leave."""
        opened: deque[Wire] = deque()
        async for number in hand.paced(400, 1_200, whole=True):
            name = f"random-{number * 2_654_435_761 % 2**32:08x}"
            never = session_expiry(0xFFFF_FFFF)
            wire = await hand.stranger()
            if wire is not None:
                wire.send(connect5(name, clean=False, properties=never))
                wire.send(SUBSCRIBE5)
                opened.append(wire)
            if len(opened) > LINGERING:
                opened.popleft().cut()
        for wire in opened:
            wire.cut()


class ByteASecond(Attack):
    """Connected clients that never finish a packet."""

    name = "PUBLISH at one byte per second"
    sentence = (
        "100 clients with a keep-alive of 2 s that each send a PUBLISH at one byte per second."
    )
    allowance = Allowance(connections=100)
    counters = ("keep_alive",)

    async def run(self, hand: Hand) -> None:
        """Send one byte per second on each connection, and reopen closed connections."""
        packet = publish("attack/drip", bytes(100))
        wires: list[Wire] = []
        async for number in hand.paced(1, whole=True):
            wires = [wire for wire in wires if not wire.closed.is_set()]
            while len(wires) < hand.some(100):
                packet_of = connect(f"drip{len(wires)}-{number}", keep_alive_seconds=2)
                wires.append(await hand.connected(packet_of))
            for wire in wires:
                wire.send(packet[number % 100 : number % 100 + 1])
