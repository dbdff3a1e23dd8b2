"""Default access rules, for a gateway with users and a network listener but without a rules file.

Each user may subscribe to `users/NAME/...` and to the topics of sensors, states and device
discovery. Each user may publish to `users/NAME/...` and, if device discovery is on, to Home
Assistant's status topic. The firmware bridge logs in as a user who may also receive commands, and
publish sensor readings, command results, states and device discovery. From the status page, an
operator may publish to every topic except the topics for commands and for sensor readings.
Everything is allowed on listeners without authentication.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.broker.access.rules.file import RulesFile, parse
from gateway.broker.access.rules.line import pattern_for, quoted

NAME: Final = "the default rules"
SENSORS: Final = "sensors/#"
"""Topics of sensor readings (docs/formats/readings.md). Only the bridge publishes to them."""
COMMANDS: Final = "commands/+/+"
"""Topics of commands for boards. Only the bridge subscribes to them.

Without a rules file no user may publish commands.
"""
ANSWERS: Final = "answers/#"
"""Topics on which the bridge publishes the results of commands."""
PAGE_LISTENER: Final = "@page"
"""Listener name for messages that operators publish on the page; no real listener can have it."""
PAGE_CLIENT_ID: Final = "page-"
"""Prefix of the client identifiers with which the page publishes these messages."""
HEALTH: Final = "oncegate-health/+"
"""Topics on which the SD card's health check, as the bridge's user, sends messages to itself."""


@dataclass(frozen=True, kw_only=True)
class BridgeAccess:
    """The settings of the firmware bridge on which its rights depend."""

    user: str | None
    """The bridge's user name; None if the bridge connects to an open listener."""
    home_assistant_prefix: str | None = None
    """First part of the topics for device discovery; None if discovery is off."""
    states: tuple[str, ...] = ()
    """Topic filters for the states of the gateway, its ports and its devices, and for alarms."""


def default_rules(*, open_listeners: Sequence[str], bridges: Sequence[BridgeAccess]) -> RulesFile:
    """Return the default access rules.

    Args:
        open_listeners: listeners on which everything is allowed.
        bridges: the bridge's settings now, and those with which a running bridge may have started.
    """
    lines = ["# what holds without [access] rules_file: oncegate acl show"]
    lines += [f"allow listener {quoted(name)} all" for name in open_listeners]
    lines.append(f"deny listener {PAGE_LISTENER} publish {COMMANDS} {SENSORS}")
    lines.append(f"allow listener {PAGE_LISTENER} publish #")
    lines += [line for each in bridges for line in _for_bridge(each)]
    lines.append(f"allow user * subscribe {SENSORS}")
    states = [state for each in bridges for state in each.states]
    lines += [f"allow user * subscribe {pattern_for(each)}" for each in states]
    lines += [line for each in bridges for line in _for_home_assistant(each)]
    lines.append("allow user * publish,subscribe users/%u/#")
    return parse("".join(f"{line}\n" for line in dict.fromkeys(lines)).encode(), NAME)


def _for_bridge(bridge: BridgeAccess) -> Iterator[str]:
    if bridge.user is not None:
        user = quoted(bridge.user)
        yield f"allow user {user} publish {SENSORS}"
        yield f"allow user {user} publish,subscribe {HEALTH}"
        yield f"allow user {user} subscribe {COMMANDS}"
        yield f"allow user {user} publish {ANSWERS}"
        for each in bridge.states:
            yield f"allow user {user} publish {pattern_for(each)}"


def _for_home_assistant(bridge: BridgeAccess) -> Iterator[str]:
    """Yield the access rules for Home Assistant's device discovery.

    Home Assistant logs in as an ordinary user. Therefore, every user may publish to the topic for
    Home Assistant's status.
    """
    prefix = bridge.home_assistant_prefix
    if prefix is not None:
        if bridge.user is not None:
            yield f"allow user {quoted(bridge.user)} publish {prefix}/#"
        yield f"allow user * subscribe {prefix}/#"
        yield f"allow user * publish {prefix}/status"
