"""Default access rules, for a gateway with users and a network listener but without a rules file.

Each user may subscribe to `users/NAME/...` and to the topics of sensors, states and device
discovery. Each user may publish to `users/NAME/...` and, if device discovery is on, to Home
Assistant's status topic. The firmware bridge logs in as a user who may also receive commands, and
publish sensor readings, command results, states and device discovery. From the status page, an
operator may publish to every topic except the topics for commands and for sensor readings.
Everything is allowed on listeners without authentication.
"""

from collections.abc import Sequence
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


def default_rules(
    *,
    open_listeners: Sequence[str],
    bridge_user: str | None,
    home_assistant_prefix: str | None = None,
    states: Sequence[str] = (),
) -> RulesFile:
    """Return the default access rules.

    Args:
        open_listeners: listeners on which everything is allowed.
        bridge_user: the user name of the firmware bridge, which may publish to `sensors/#`; None
            if the bridge connects to an open listener.
        home_assistant_prefix: first part of the topics for device discovery; None if discovery is
            off.
        states: topic filters for the states of the gateway, its ports and its devices.
    """
    lines = ["# what holds without [access] rules_file: oncegate acl show"]
    lines += [f"allow listener {quoted(name)} all" for name in open_listeners]
    lines.append(f"deny listener {PAGE_LISTENER} publish {COMMANDS} {SENSORS}")
    lines.append(f"allow listener {PAGE_LISTENER} publish #")
    if bridge_user is not None:
        user = quoted(bridge_user)
        lines.append(f"allow user {user} publish {SENSORS}")
        lines.append(f"allow user {user} publish,subscribe {HEALTH}")
        lines.append(f"allow user {user} subscribe {COMMANDS}")
        lines.append(f"allow user {user} publish {ANSWERS}")
        lines += [f"allow user {user} publish {pattern_for(each)}" for each in states]
    lines.append(f"allow user * subscribe {SENSORS}")
    lines += [f"allow user * subscribe {pattern_for(each)}" for each in states]
    if home_assistant_prefix is not None:
        lines += _for_home_assistant(home_assistant_prefix, bridge_user)
    lines.append("allow user * publish,subscribe users/%u/#")
    return parse("".join(f"{line}\n" for line in lines).encode(), NAME)


def _for_home_assistant(prefix: str, bridge_user: str | None) -> list[str]:
    """Return the access rules for Home Assistant's device discovery.

    Home Assistant logs in as an ordinary user. Therefore, every user may publish to the topic for
    Home Assistant's status.
    """
    lines = [f"allow user * subscribe {prefix}/#", f"allow user * publish {prefix}/status"]
    if bridge_user is not None:
        lines.insert(0, f"allow user {quoted(bridge_user)} publish {prefix}/#")
    return lines
