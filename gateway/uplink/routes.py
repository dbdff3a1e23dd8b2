"""Which topics go where, and under which names. Pure.

The terms are those of Mosquitto's `topic PATTERN DIRECTION QOS LOCAL-PREFIX REMOTE-PREFIX`: a
message is taken from one broker under `prefix + filter`, loses that side's prefix, and is published
to the other one with the prefix of that side::

    filter "sensors/#", local_prefix "", remote_prefix "site-7/", out:
    sensors/gps/lat  ->  site-7/sensors/gps/lat
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from gateway.wire.topics import matches, validate_topic_name

Direction = Literal["out", "in", "both"]


class Side(IntEnum):
    """Where a session is: at this gateway's broker, or at the upstream one."""

    LOCAL = 0
    REMOTE = 1

    @property
    def other(self) -> "Side":
        """The side that messages of this one go to."""
        return Side(1 - self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One table `[[uplink.topics]]`; `qos` is the highest that is asked for."""

    filter: str
    direction: Direction = "out"
    qos: int = 2
    local_prefix: str = ""
    remote_prefix: str = ""

    def takes_from(self, side: Side) -> bool:
        """Return whether messages of this side are forwarded."""
        return self.direction == "both" or (self.direction == "out") == (side is Side.LOCAL)

    def prefix_at(self, side: Side) -> str:
        """Return what topics begin with on this side."""
        return self.local_prefix if side is Side.LOCAL else self.remote_prefix

    def filter_at(self, side: Side) -> str:
        """Return the filter that is subscribed to on this side."""
        return self.prefix_at(side) + self.filter


class Routes:
    """All of them, in the order of the file; the first that matches decides."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._from = {side: [route for route in routes if route.takes_from(side)] for side in Side}

    def subscriptions_at(self, side: Side) -> dict[str, int]:
        """Return the filters to subscribe to on this side, each with its QoS."""
        return {route.filter_at(side): route.qos for route in self._from[side]}

    def topic_from(self, side: Side, topic: str) -> str | None:
        """Return the topic on the other side; None where no route takes it, or it is no topic."""
        for route in self._from[side]:
            if matches(route.filter_at(side), topic):
                mapped = route.prefix_at(side.other) + topic[len(route.prefix_at(side)) :]
                return mapped if validate_topic_name(mapped) is None else None
        return None
