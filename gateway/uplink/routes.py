"""Maps topics between the two brokers, with a topic prefix at each broker.

This module does no I/O. As in Mosquitto's `topic PATTERN DIRECTION QOS LOCAL-PREFIX REMOTE-PREFIX`,
the uplink subscribes to `prefix + filter` at one broker. In the topic of each received message, it
replaces this prefix with the prefix of the other side. It then publishes the message to the other
broker::

    filter "sensors/#", local_prefix "", remote_prefix "site-7/", out:
    sensors/gps/lat  ->  site-7/sensors/gps/lat
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from gateway.broker.wire.topics import matches, validate_topic_name

Direction = Literal["out", "in", "both"]


class Side(IntEnum):
    """One of the two brokers between which the uplink forwards messages.

    The local side is this gateway's broker, and the remote side is the upstream broker.
    """

    LOCAL = 0
    REMOTE = 1

    @property
    def other(self) -> "Side":
        """The other side, to which messages from this side are forwarded."""
        return Side(1 - self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A forwarding rule, from one table `[[uplink.topics]]` in the configuration.

    `qos` is the highest QoS of forwarded messages.
    """

    filter: str
    direction: Direction = "out"
    qos: int = 2
    local_prefix: str = ""
    remote_prefix: str = ""

    def takes_from(self, side: Side) -> bool:
        """Return True if this route forwards messages from the broker on `side`."""
        return self.direction == "both" or (self.direction == "out") == (side is Side.LOCAL)

    def prefix_at(self, side: Side) -> str:
        """Return the prefix of this route's topics at the broker on `side`."""
        return self.local_prefix if side is Side.LOCAL else self.remote_prefix

    def filter_at(self, side: Side) -> str:
        """Return this route's topic filter at the broker on `side`, including the prefix."""
        return self.prefix_at(side) + self.filter


class Routes:
    """All routes, in the order of the configuration.

    If several routes match a topic, the first one applies.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self._from = {side: [route for route in routes if route.takes_from(side)] for side in Side}

    def subscriptions_at(self, side: Side) -> dict[str, int]:
        """Return the topic filters to subscribe to at the broker on `side`, each with its QoS."""
        return {route.filter_at(side): route.qos for route in self._from[side]}

    def topic_from(self, side: Side, topic: str) -> str | None:
        """Map the topic of a message from the broker on `side` to the topic at the other broker.

        Return None if no route matches, or if the new topic would be invalid.
        """
        for route in self._from[side]:
            if matches(route.filter_at(side), topic):
                mapped = route.prefix_at(side.other) + topic[len(route.prefix_at(side)) :]
                return mapped if validate_topic_name(mapped) is None else None
        return None
