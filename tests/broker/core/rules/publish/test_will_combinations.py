"""Every combination of will delay, session expiry, return, clean start and end, against one rule.

The rule (5.0 sections 3.1.2.5, 3.1.3.2.2 and 3.1.4): a will is due when its delay has passed or its
session ends, whichever is first. If the client returns earlier, its will is removed. With a clean
start the session ends, so the will is published at that moment. A takeover ends the connection and
is a return in the same moment. DISCONNECT with 0x00 removes the will.

One broker serves all these clients at the same time, one second after another.
"""

from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from gateway.broker.core.limits import Limits
from gateway.broker.wire.packets import Connack, Disconnect, Will
from tests.broker.core.harness import Client, Harness, publishes
from tests.broker.core.mqtt5 import NEVER, connect, properties, subscriber

LAST_SECOND = 20
INTERRUPTION_SECOND = 4
TAKEOVER = 0


class Life(NamedTuple):
    """The behaviour of one client; seconds are counted from the end of its connection."""

    delay: int
    expiry: int
    back: int | None
    clean: bool
    end: str

    @property
    def name(self) -> str:
        return "-".join(str(each) for each in self)

    def is_back_before(self, second: int) -> bool:
        return self.back is not None and self.back < second

    def session_present(self) -> bool:
        """Return True if the client finds its session when it returns."""
        return not self.clean and self.is_back_before(self.expiry)

    def will_at(self) -> int | None:
        """Return the second in which the will is published, or None if it never is."""
        if self.end == "disconnect":
            return None
        due = min(self.delay, self.expiry)
        if self.is_back_before(due):
            return self.back if self.clean else None
        return due


LIVES = [
    Life(*each)
    for each in product(
        (0, 3, 6, 12),
        (0, 3, 6, NEVER),
        (None, TAKEOVER, 2, 3, 5, 8, 15),
        (False, True),
        ("lost", "disconnect with will", "disconnect"),
    )
    if not (each[2] == TAKEOVER and each[4] != "lost") and not (each[2] is None and each[3])
]


class World:
    """A broker with one client for each of `LIVES`, and the second in which each will was seen."""

    def __init__(self, data_dir: Path) -> None:
        limits = Limits()
        limits.max_inflight = 0
        self.harness = Harness(data_dir, limits)
        self.watch = subscriber(self.harness, "watch", "w/#", 1)
        self.seen: dict[str, int] = {}

    def begin(self) -> None:
        """Connect all clients, then end their connections except those that will be taken over."""
        clients: dict[Life, Client] = {}
        for life in LIVES:
            wait = properties(will_delay_interval_seconds=life.delay) if life.delay else None
            will = Will(f"w/{life.name}", b"gone", 1, False, wait)
            clients[life] = connect(self.harness, life.name, expiry=life.expiry, will=will)
        for life, client in clients.items():
            if life.end == "lost" and life.back != TAKEOVER:
                self.harness.lose(client)
            elif life.end != "lost":
                client.send(Disconnect(0x04 if life.end == "disconnect with will" else 0))
        self.harness.commit()

    def come_back(self, second: int) -> None:
        """Connect the clients that return in this second, after the second's timers."""
        for life in LIVES:
            if life.back == second:
                client = connect(self.harness, life.name, clean=life.clean)
                (connack,) = client.take()
                assert isinstance(connack, Connack)
                assert connack.session_present is life.session_present(), life

    def pass_second(self) -> None:
        """Advance one second and run all timers that are due, which takes more than one slice."""
        broker = self.harness.broker
        self.harness.advance(1)
        while (due := broker.next_due()) is not None and due <= self.harness.now:
            self.harness.advance(0)

    def look(self, second: int) -> None:
        """Record the second in which each will arrived."""
        for packet in publishes(self.watch.take()):
            life = packet.topic[2:]
            if life in self.seen:
                assert packet.dup, (
                    f"{life}: its will came twice"
                )  # the watcher resumed, and the same will is sent again
            else:
                self.seen[life] = second

    def interrupt(self, how: str) -> None:
        """Stop the broker and start it again within this second."""
        if how == "cut":
            self.harness.cut()
        elif how == "cut after a checkpoint":
            self.harness.checkpoint()
            self.harness.cut()
        elif how == "restart":
            self.harness.restart()
        if how != "none":
            self.watch = connect(self.harness, "watch")
            self.harness.advance(0)


@pytest.mark.statement(
    "MQTT5-3.1.2-4",
    "MQTT5-3.1.2-5",
    "MQTT5-3.1.2-8",
    "MQTT5-3.1.2-10",
    "MQTT5-3.1.3-9",
    "MQTT5-3.1.4-3",
    "MQTT5-3.1.4-4",
    "MQTT5-3.2.2-2",
    "MQTT5-3.2.2-3",
    "MQTT5-3.14.4-3",
    "MQTT5-4.1.0-2",
)
@pytest.mark.parametrize("interruption", ["none", "cut", "cut after a checkpoint", "restart"])
def test_each_will_goes_out_when_the_rule_requires_it_and_once(
    tmp_path: Path, interruption: str
) -> None:
    world = World(tmp_path)
    world.begin()
    for second in range(LAST_SECOND):
        if second:
            world.pass_second()
        world.look(second)
        world.come_back(second)
        world.look(second)
        if second == INTERRUPTION_SECOND:
            world.interrupt(interruption)
            world.look(second)
    wrong = {
        life: (world.seen.get(life.name), life.will_at())
        for life in LIVES
        if world.seen.get(life.name) != life.will_at()
    }
    assert not wrong, f"{len(wrong)} of {len(LIVES)} (seen, by the rule): {wrong}"
    assert not world.harness.broker.state.wills
    world.harness.close()
