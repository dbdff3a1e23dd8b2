"""Prevents forwarding loops. A user property lists the gateways that forwarded a message.

This module does no I/O. Loops are only prevented with MQTT 5.0, because MQTT 3.1.1 has no
properties. The property's value consists of the gateways' ids in order, separated by commas. If a
message contains the property several times, all its values are used.
"""

from collections.abc import Iterable
from typing import Final

HOPS_PROPERTY: Final = "oncegate-hops"
HOPS_MAX: Final = 16
"""Maximum number of gateways that may forward a message. Chains have two or three clusters."""

UserProperties = Iterable[tuple[str, str]]


def hops_of(properties: UserProperties) -> list[str]:
    """Return the ids of the gateways through which a message has passed, in order."""
    return [
        hop
        for name, value in properties
        if name == HOPS_PROPERTY
        for hop in value.split(",")
        if hop
    ]


def may_pass(hops: list[str], gateway_id: str) -> bool:
    """Return True if this gateway may forward a message with the given `hops`.

    `hops` contains the ids of the gateways through which the message has passed. This gateway must
    not be among them. There must be fewer than `HOPS_MAX` ids, because forwarding adds one.
    """
    return len(hops) < HOPS_MAX and gateway_id not in hops


def with_hop(properties: UserProperties, gateway_id: str) -> list[tuple[str, str]]:
    """Return the user properties with this gateway added to the hops.

    All hops are combined in one property, which is placed last.
    """
    given = list(properties)
    others = [each for each in given if each[0] != HOPS_PROPERTY]
    return [*others, (HOPS_PROPERTY, ",".join([*hops_of(given), gateway_id]))]
