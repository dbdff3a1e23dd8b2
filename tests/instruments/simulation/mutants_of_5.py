"""Mutants with mistakes in shared subscriptions and topic aliases (MQTT 5.0)."""

from typing import Any
from weakref import WeakKeyDictionary

from gateway.broker.core.broker import Broker
from gateway.broker.core.core import Core
from gateway.broker.core.frames import Frames
from gateway.broker.core.rules.connect import disconnect
from gateway.broker.core.rules.deliver import fan_out
from gateway.broker.core.rules.publish import admission
from gateway.broker.core.rules.subscribe import shared_subscriptions
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.topics.route import Group
from gateway.broker.wire.packets import Publish
from tests.instruments.simulation.mutant import Mutant, later, later_when_committed, one

PILED_UP = "a group's member ends its session while messages wait for it on disk"

_KEPT: WeakKeyDictionary[Session, dict[str, tuple[int, int]]] = WeakKeyDictionary()
"""Topic aliases that wrongly outlive their connection."""


def _nothing(_: object) -> object:
    return lambda self, *arguments: None


def _hands_over_qos_2(right: Any) -> object:
    def begin(core: Core, session: Session, now: float) -> None:
        for delivery in session.outbound.values():
            if delivery.qos == 2 and delivery.message is not None:
                shared_subscriptions._hand_over(
                    core, session, session.keys, delivery, delivery.message, now
                )
        right(core, session, now)

    return begin


def _hands_over_later(right: Any) -> object:
    deferred: Any = later(right)

    def deliver_shared(core: Core, *arguments: Any) -> None:
        but = arguments[3]
        (right if but is None else deferred)(core, *arguments)

    return deliver_shared


def _keeps_what_it_hands_over(right: Any) -> object:
    def leave(core: Core, connection: Connection, reason: int, now: float) -> None:
        session = connection.session
        right(core, connection, reason, now)
        if session is not None and not session.ended and session.connection is None:
            shared_subscriptions.begin(core, session, now)

    return leave


def _everybody_gets_it(right: Any) -> object:
    def deliver_shared(core: Core, group: Group, *arguments: Any) -> None:
        for _ in group.members:
            right(core, group, *arguments)

    return deliver_shared


def _aliases_kept(right: Any) -> object:
    def aliased(self: Frames, connection: Connection, *arguments: Any) -> object:
        assert connection.session is not None
        connection.aliases_out = _KEPT.setdefault(connection.session, connection.aliases_out)
        return right(self, connection, *arguments)

    return aliased


def _alias_never_replaced(right: Any) -> object:
    def resolve(core: Core, connection: Connection, packet: Publish) -> object:
        assert packet.properties is not None
        alias = packet.properties.topic_alias
        before = connection.aliases_in.get(alias or 0)
        wrong = right(core, connection, packet)
        if before is not None:
            connection.aliases_in[alias or 0] = before
        return wrong

    return resolve


def _alias_of_what_waits_as_if_it_had_left(right: Any) -> object:
    def delivery(self: Frames, *arguments: Any) -> object:
        return right(self, *arguments[:-1], min(arguments[-1], 0))

    return delivery


def _alias_used_before_its_definition_has_left(right: Any) -> object:
    def qos0(self: Frames, *arguments: Any) -> object:
        leaves_with = arguments[-1]
        return right(self, *arguments[:-1], leaves_with if leaves_with < 0 else 1 << 40)

    return qos0


MUTANTS_OF_5 = (
    one("hand over nothing", shared_subscriptions, "begin", _nothing, scenario=PILED_UP),
    one(
        "hand over nothing from disk",
        shared_subscriptions,
        "finish",
        _nothing,
        scenario=PILED_UP,
        begin=130,
    ),
    Mutant(
        "hand over in the next batch",
        (
            (fan_out, "deliver_shared", _hands_over_later),
            (Broker, "committed", later_when_committed),
        ),
        PILED_UP,
        begin=144,
    ),
    one("hand over QoS 2 in flight", shared_subscriptions, "begin", _hands_over_qos_2, begin=50),
    one("keep what is handed over", disconnect, "_detach", _keeps_what_it_hands_over),
    one("every member of a group gets it", fan_out, "deliver_shared", _everybody_gets_it),
    one("topic aliases kept for the next connection", Frames, "_aliased", _aliases_kept),
    one("topic alias never replaced", admission, "_resolve_alias", _alias_never_replaced),
    one(
        "topic alias of QoS 1 and 2 that waits used as if it had left",
        Frames,
        "delivery",
        _alias_of_what_waits_as_if_it_had_left,
    ),
    one(
        "topic alias used before its definition has left",
        Frames,
        "qos0",
        _alias_used_before_its_definition_has_left,
        begin=22,
    ),
)
