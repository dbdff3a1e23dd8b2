"""Topics with their messages, and the arguments and results of publishing."""

from typing import Annotated, Literal

from pydantic import Field

from api import limits
from api.models.actions import Given
from api.models.values import Count, Milliseconds, Reported

TopicName = Annotated[str, Field(min_length=1, max_length=limits.PUBLISHED_TOPIC_CHARACTERS_MAX)]


class TopicMessage(Reported):
    """A message on a topic. Payloads are shown to operators only."""

    text: str | None
    """The first 256 bytes of the payload; null if it is not UTF-8 or the caller is a viewer."""
    hex: str | None
    """The first 32 bytes of a payload that is not UTF-8; null for viewers."""
    bytes: Count
    """Size of the payload in bytes."""
    qos: Count
    client_id: str | None
    """Client identifier of the publisher; null if unknown."""
    time_ms: Milliseconds | None
    """Time of receipt by the gateway's clock; null if older than the newest MiB of the journal."""

    def without_payload(self) -> "TopicMessage":
        """Return a copy of the message without the payload, for viewers."""
        return self.model_copy(update={"text": None, "hex": None})


class Topic(Reported):
    topic: str
    retained: TopicMessage | None
    latest: TopicMessage | None
    """The latest recorded message; null if it is unknown or is the retained message."""


class TopicPage(Reported):
    """A page of topics. Each topic level is followed by the topics below it."""

    topics: list[Topic]
    next: str | None
    """Send this value as `after` to get the next page; null on the last page."""

    def without_payloads(self) -> "TopicPage":
        """Return a copy of the page without payloads, which viewers are not allowed to read."""
        topics = [
            Topic(
                topic=each.topic,
                retained=each.retained and each.retained.without_payload(),
                latest=each.latest and each.latest.without_payload(),
            )
            for each in self.topics
        ]
        return TopicPage(topics=topics, next=self.next)


class PublishMessage(Given):
    topic: TopicName
    payload: Annotated[str, Field(max_length=limits.PUBLISHED_PAYLOAD_CHARACTERS_MAX)] = ""
    """Payload of at most 8,192 bytes in UTF-8."""
    qos: Literal[1, 2] = 1
    retain: bool = False
    """If true, new subscribers receive the message until it is replaced or cleared."""


class ClearRetained(Given):
    topic: TopicName


class Published(Reported):
    published: bool
    matched: bool
    """True if a client is subscribed to the topic."""
    receivers: Count
    """Subscribed clients that may read the topic. A shared subscription counts once."""
    denied: Count
    """Subscribed clients that the access rules forbid to read the topic."""


class Cleared(Reported):
    cleared: bool
