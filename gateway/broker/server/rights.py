"""Determines the access rules and the known users of a broker from its configuration."""

import logging
from collections.abc import Iterator, Sequence
from typing import Final

from gateway.broker.access.passwords.file import PasswordFile
from gateway.broker.access.rules.defaults import SENSORS, BridgeAccess, default_rules
from gateway.broker.access.rules.evaluation import FileRules
from gateway.broker.access.rules.file import RulesFile, RulesFileError, load
from gateway.broker.core.permissions import Client
from gateway.configuration import Configuration, Listener, Serial
from gateway.configuration.addresses import host_and_port_of, is_loopback
from gateway.configuration.whole import GATEWAY_TOPIC

logger = logging.getLogger(__name__)

FORMER_BRIDGES_MAX: Final = 8
"""Maximum number of former settings of the bridge whose rights are kept. The rules stay short even
if a program changes these settings and reloads again and again."""


def rules_of(configuration: Configuration, former: Sequence[BridgeAccess] = ()) -> FileRules | None:
    """Return the access rules of a broker, or None if everything is allowed.

    `former` are the bridge's settings before a reload. The default rules also allow what a bridge
    with these settings does. An own rules file that does not is named in the log.

    Raises:
        RulesFileError: the rules file is invalid, or the rules do not allow the bridge to publish
            its readings.
    """
    file = rules_file_of(configuration, former)
    if file is None:
        return None
    rules = FileRules(file)
    is_own = configuration.access.rules_file is not None
    if is_own and configuration.serial and configuration.bridge.broker is None:
        _refuse_silent_bridge(rules, configuration)
        _warn_of_former_bridges(rules, configuration, former)
    return rules


def rules_file_of(
    configuration: Configuration, former: Sequence[BridgeAccess] = ()
) -> RulesFile | None:
    """Return the rules from `[access] rules_file` or the default rules, or None if no rules apply.

    The default rules apply to a broker that has users and is reachable from the network. Raises
    RulesFileError if the file is invalid.
    """
    path = configuration.access.rules_file
    if path is not None:
        return load(path)
    if not configuration.access.sources and not _proves_users(configuration):
        return None
    open_listeners = open_listeners_of(configuration)
    if len(open_listeners) == len(configuration.listeners):
        return None
    return default_rules(
        open_listeners=open_listeners,
        bridges=[bridge_access_of(configuration), *former],
    )


def bridge_access_of(configuration: Configuration) -> BridgeAccess:
    """Return the settings of the bridge on which its rights at this broker depend."""
    return BridgeAccess(
        user=bridge_user_of(configuration),
        home_assistant_prefix=configuration.bridge.home_assistant_prefix,
        states=(*_states_of(configuration), f"{configuration.alarms.topic}/#"),
    )


def former_bridges(
    configuration: Configuration, former: Sequence[BridgeAccess]
) -> tuple[BridgeAccess, ...]:
    """Return `former` and the bridge's settings in `configuration`, the latest first.

    A bridge reads its settings when it starts. After a reload it may therefore still run with
    earlier settings, and the broker does not know with which. Messages that it may not publish
    would be lost silently, because the bridge uses MQTT 3.1.1.
    """
    found = dict.fromkeys((bridge_access_of(configuration), *former))
    return tuple(found)[:FORMER_BRIDGES_MAX]


def bridge_user_of(configuration: Configuration) -> str | None:
    """Return the user name with which the bridge logs in to this broker.

    Return None if the bridge connects without a user, or to another broker.
    """
    bridge = configuration.bridge
    if not configuration.access.sources:
        return None
    if bridge.broker is not None and not is_loopback(host_and_port_of(bridge.broker)[0]):
        return None
    return bridge.username


def users_known(configuration: Configuration, users: PasswordFile | None) -> frozenset[str] | None:
    """Return the names of all users, or None if the users cannot be listed.

    Users cannot be listed if they are authenticated by certificates, or by sources other than the
    password file.
    """
    others = {*configuration.access.sources} - {"password_file"}
    return None if users is None or others or _proves_users(configuration) else users.usernames


def _proves_users(configuration: Configuration) -> bool:
    """Return True if a listener authenticates clients by their certificates."""
    return any(listener.proves_users for listener in configuration.listeners)


def open_listeners_of(configuration: Configuration) -> list[str]:
    """Return the listeners at which everything is allowed as long as no rules file exists."""
    return [each.called for each in configuration.listeners if _is_open(each)]


def _is_open(listener: Listener) -> bool:
    """Return True if a listener's clients may do everything as long as no rules file exists."""
    return not listener.is_reached_from_network or listener.is_open_to_network


def _refuse_silent_bridge(rules: FileRules, configuration: Configuration) -> None:
    # The bridge uses MQTT 3.1.1, in which a denied message is acknowledged and dropped: its
    # readings would be lost silently.
    first = next(each for each in configuration.listeners if each.is_plain)
    bridge = Client(configuration.bridge.client_id, bridge_user_of(configuration), first.called)
    who = f"user {bridge.username}" if bridge.username else f"client {bridge.client_id}*"
    for topic, topic_filter, what in _topics_of_bridge(configuration):
        decision = rules.decide(bridge, "publish", topic, qos=2)
        if not decision.allowed or not rules.may_connect(bridge):
            problem = (
                f"{rules.file.name}: the bridge must not publish to {topic}, so that {what} "
                f"would be lost: put this line before all others: allow {who} all {topic_filter}"
            )
            raise RulesFileError([problem])


def _warn_of_former_bridges(
    rules: FileRules, configuration: Configuration, former: Sequence[BridgeAccess]
) -> None:
    """Log for each former setting of the bridge the filters to which it must not publish.

    The reload is not refused: the operator may have restarted the bridge, or wants to deny this.
    """
    first = next(each for each in configuration.listeners if each.is_plain)
    current = bridge_access_of(configuration)
    for each in former:
        if each == current:
            continue
        prefix = each.home_assistant_prefix
        client = Client(configuration.bridge.client_id, each.user, first.called)
        filters = (SENSORS, *each.states, *([] if prefix is None else [f"{prefix}/#"]))
        denied = [
            topic_filter
            for topic_filter in filters
            if not rules.decide(client, "publish", topic_filter[:-1] + "state", qos=2).allowed
        ]
        if denied:
            logger.warning(
                "%s: a bridge that still runs with its earlier settings must not publish to %s, "
                "so that its messages are lost: restart `oncegate bridge`",
                rules.file.name,
                ", ".join(denied),
            )


def _topics_of_bridge(configuration: Configuration) -> Iterator[tuple[str, str, str]]:
    """Yield a topic, a topic filter and a description for each type of message from the bridge.

    The topic is an example that the filter matches.
    """
    for port in configuration.serial:
        yield f"sensors/{_device_of(port)}/value", "sensors/#", "readings"
    for each in _states_of(configuration):
        yield f"{each.removesuffix('#')}state", each, "states"
    prefix = configuration.bridge.home_assistant_prefix
    if prefix is not None:
        yield f"{prefix}/device/any/config", f"{prefix}/#", "descriptions for Home Assistant"


def _states_of(configuration: Configuration) -> list[str]:
    """Return filters for the topics to which the bridge publishes states.

    These are the states of the gateway, its ports and its devices.
    """
    bridge = configuration.bridge
    filters = [] if bridge.availability_topic is None else [f"{bridge.availability_topic}/#"]
    return filters if bridge.home_assistant_prefix is None else [*filters, f"{GATEWAY_TOPIC}/#"]


def _device_of(port: Serial) -> str:
    """Return the name of the device on a serial port, as the bridge writes it in topics."""
    if port.protocol.device_prefix is not None:
        return f"{port.protocol.device_prefix}0"
    return (*port.protocol.device_names, port.device or port.name)[0]
