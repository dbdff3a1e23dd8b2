"""Which gateways a message has passed, in a user property, so that no message goes round. Pure.

MQTT 5.0 only: 3.1.1 has no properties. The property's value is the gateways' ids in order, with
commas between them; one message may have it several times, and all of them count.
"""

from collections.abc import Iterable
from typing import Final

HOPS_PROPERTY: Final = "oncegate-hops"
HOPS_MAX: Final = 16
"""Gateways on a message's way; a chain of clusters is two or three long."""

UserProperties = Iterable[tuple[str, str]]


def hops_of(properties: UserProperties) -> list[str]:
    """Return the ids that the message has brought, in order."""
    return [
        hop
        for name, value in properties
        if name == HOPS_PROPERTY
        for hop in value.split(",")
        if hop
    ]


def may_pass(hops: list[str], gateway_id: str) -> bool:
    """Return whether this gateway may forward it: it has not done so before, and the way is short.

    `gateway_id` is added by `with_hop`, so the way has at most `HOPS_MAX` with it.
    """
    return len(hops) < HOPS_MAX and gateway_id not in hops


def with_hop(properties: UserProperties, gateway_id: str) -> list[tuple[str, str]]:
    """Return the user properties with one list of hops, behind the others."""
    given = list(properties)
    others = [each for each in given if each[0] != HOPS_PROPERTY]
    return [*others, (HOPS_PROPERTY, ",".join([*hops_of(given), gateway_id]))]
