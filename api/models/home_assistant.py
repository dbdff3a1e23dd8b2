"""State of a device in Home Assistant, derived from retained messages and subscriptions."""

from typing import Literal

from pydantic import Field

from api.models.values import Count, Milliseconds, Reported

Verdict = Literal["off", "not_described", "not_received", "unavailable", "available"]


class TopicState(Reported):
    """The retained message of a topic, and the clients that receive messages on the topic."""

    topic: str
    is_retained: bool
    text: str | None
    """The retained payload; null if there is none, it is not UTF-8, or it is too long."""
    receivers: Count
    """Subscribed clients, connected or not, that may read the topic."""
    denied: Count
    """Subscribed clients that the access rules forbid to read the topic."""
    clients: list[str]
    """Client ids of some receivers that are connected."""


class TopicStates(Reported):
    topics: list[TopicState]


class Entity(Reported):
    """A quantity as it is described to Home Assistant."""

    quantity: str
    name: str
    """Name that Home Assistant shows."""
    platform: str
    """sensor or binary_sensor."""
    device_class: str | None = None
    unit: str | None = None
    """Unit in Home Assistant's form."""
    state_class: str | None = None
    topic: str
    """Topic of the quantity's readings."""


class Availability(Reported):
    topic: str
    state: Literal["online", "offline"] | None
    """The retained state; null if none is retained, or another text."""


class InHomeAssistant(Reported):
    """State of a device in Home Assistant."""

    verdict: Verdict
    """off: discovery is not configured. not_described: no description of the device is retained.
    not_received: no connected client is subscribed to the description. unavailable: at least one
    availability topic is not `online`. available: all of them are.
    """
    sentence: str
    """Explanation of the verdict, for a person."""
    mend: str | None
    """How to fix it, for a person; null if the device is available."""
    topic: str | None = None
    """Topic of the device's description."""
    entities: list[Entity] = Field(default_factory=list)
    """The quantities that are described."""
    availability: list[Availability] = Field(default_factory=list)
    """The topics that must all be `online` for the device to be available."""
    clients: list[str] = Field(default_factory=list)
    """Client ids of connected clients that receive the description."""
    status_topic: str | None = None
    """Topic at which Home Assistant publishes `online` when it starts."""
    status: Literal["online", "offline"] | None = None
    """Latest status that the bridge received; null if none since the bridge started."""
    status_ms: Milliseconds | None = None
    """Time at which the bridge received the status."""
