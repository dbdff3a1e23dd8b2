"""State of a device in Home Assistant, or the reason why Home Assistant does not show the device.

The bridge reports whether it publishes descriptions of devices, and the last status that Home
Assistant has published. The broker provides the retained descriptions and availability messages.
These messages are validated, because other clients may have written them.
"""

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from api.models.bridge import BridgeStatus, Discovery
from api.models.home_assistant import Availability, Entity, InHomeAssistant, TopicState, Verdict
from api.status.observer import Observer
from gateway.process.control.discovery_topics import STATUS, topic_for
from gateway.process.control.messages import Refused

AVAILABILITY_TOPICS_MAX: Final = 3
"""Availability topics of a device: the bridge's, the port's and the device's own."""
TOPIC_CHARACTERS_MAX: Final = 1_024
"""Longest topic that the broker's command `topic_states` accepts."""
_SETTING: Final = 'home_assistant_prefix = "homeassistant"'

_FIX_OF_RECEIPT: Final = (
    "In Home Assistant open Settings, Devices & services, Add integration, MQTT. Enter the address "
    "of this broker and a user. Its discovery prefix has to be `{prefix}`."
)
_FIX_OF_STATE: Final = (
    "See the state of the port and the device. A topic without a state needs an access rule that "
    "lets the bridge's user publish it."
)


class _Component(BaseModel):
    model_config = ConfigDict(strict=True)

    p: str = Field(max_length=64)
    name: str = Field("", max_length=256)
    dev_cla: str | None = Field(None, max_length=64)
    unit_of_meas: str | None = Field(None, max_length=64)
    stat_cla: str | None = Field(None, max_length=64)
    stat_t: str = Field("", max_length=TOPIC_CHARACTERS_MAX)


class _AvailabilityTopic(BaseModel):
    model_config = ConfigDict(strict=True)

    t: str = Field(min_length=1, max_length=TOPIC_CHARACTERS_MAX)


class _Description(BaseModel):
    model_config = ConfigDict(strict=True)

    cmps: dict[str, _Component] = Field(max_length=256)
    avty: list[_AvailabilityTopic] = Field([], max_length=AVAILABILITY_TOPICS_MAX)


async def in_home_assistant(
    observer: Observer, bridge: BridgeStatus, device: str
) -> InHomeAssistant:
    """Return the state of one of the bridge's devices in Home Assistant.

    Raises BrokerProblem if the broker gave no usable response.
    """
    discovery = bridge.home_assistant
    if discovery is None:
        return InHomeAssistant(
            verdict="off",
            sentence="Home Assistant does not find this device: discovery is off.",
            mend=f"Set `{_SETTING}` in `[bridge]` and restart the bridge.",
        )
    topic = topic_for(discovery.prefix, discovery.gateway, device)
    (described,) = await _states(observer, [topic])
    description = _description_in(described)
    if description is None:
        return _result(discovery, topic, "not_described", *_undescribed(discovery, described))
    topics = [each.t for each in description.avty]
    states = await _states(observer, topics) if topics else []
    availability = [Availability(topic=each.topic, state=_state_in(each)) for each in states]
    return _result(
        discovery,
        topic,
        *_judged(discovery, described, availability),
        entities=_entities_in(description),
        availability=availability,
        clients=described.clients,
    )


def _entities_in(description: _Description) -> list[Entity]:
    return [
        Entity(
            quantity=quantity,
            name=each.name,
            platform=each.p,
            device_class=each.dev_cla,
            unit=each.unit_of_meas,
            state_class=each.stat_cla,
            topic=each.stat_t,
        )
        for quantity, each in description.cmps.items()
        if each.stat_t  # A part without a topic only removes a quantity.
    ]


async def _states(observer: Observer, topics: list[str]) -> list[TopicState]:
    try:
        return (await observer.topic_states(topics)).topics
    except Refused:
        # A topic that the broker does not accept has no retained message.
        return [
            TopicState(topic=each, is_retained=False, text=None, receivers=0, denied=0, clients=[])
            for each in topics
        ]


def _description_in(state: TopicState) -> _Description | None:
    """Return the description in a retained message, or None if there is no valid description."""
    if state.text is None:
        return None
    try:
        return _Description.model_validate_json(state.text)
    except ValidationError:
        return None


def _state_in(state: TopicState) -> Literal["online", "offline"] | None:
    match state.text:
        case "online":
            return "online"
        case "offline":
            return "offline"
    return None


def _undescribed(discovery: Discovery, described: TopicState) -> tuple[str, str]:
    """Return the reason why a device has no valid description, and how to fix this.

    `discovery` is the bridge's report about its descriptions. `described` is the state of the topic
    on which the device should be described.
    """
    if described.is_retained:
        return (
            "The retained description of this device is not one of this gateway's.",
            "On the page Topics find the client that publishes it. Deny it the topic.",
        )
    if not discovery.connected:
        reason = discovery.fault or "the broker cannot be reached"
        return (
            f"This device is not described: the bridge has no connection for it ({reason}).",
            "Correct `username` and `password_file` in `[bridge]`, and lift a ban of the bridge.",
        )
    return (
        "This device is not described yet.",
        f"It is described after its first reading, if rules allow `publish {discovery.prefix}/#`.",
    )


def _judged(
    discovery: Discovery, described: TopicState, availability: list[Availability]
) -> tuple[Verdict, str, str | None]:
    """Return a verdict, an explanation and the fix for a device that has a description.

    The verdict states whether Home Assistant can show the device. If it can, the fix is None.
    `described` is the state of the topic with the description.
    """
    if not described.clients and described.denied:
        return (
            "not_received",
            "This device is described, but the access rules hide it from the client that asks.",
            f"Allow the user of Home Assistant: `subscribe {discovery.prefix}/#`.",
        )
    if not described.clients:
        return (
            "not_received",
            "This device is described, but no connected client is subscribed to descriptions.",
            _FIX_OF_RECEIPT.format(prefix=discovery.prefix),
        )
    offline = next((each for each in availability if each.state != "online"), None)
    if offline is not None:
        state = "offline" if offline.state is not None else "without a state"
        return (
            "unavailable",
            f"Home Assistant shows this device as unavailable: {offline.topic} is {state}.",
            _FIX_OF_STATE,
        )
    return "available", "Home Assistant can show this device.", None


def _result(
    discovery: Discovery,
    topic: str,
    verdict: Verdict,
    sentence: str,
    fix: str | None,
    *,
    entities: list[Entity] | None = None,
    availability: list[Availability] | None = None,
    clients: list[str] | None = None,
) -> InHomeAssistant:
    return InHomeAssistant(
        verdict=verdict,
        sentence=sentence,
        mend=fix,
        topic=topic,
        entities=entities or [],
        availability=availability or [],
        clients=clients or [],
        status_topic=f"{discovery.prefix}/{STATUS}",
        status=discovery.status,
        status_ms=discovery.status_ms,
    )
