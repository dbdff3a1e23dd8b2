"""The command `topics`, which lists topics with their retained and latest recorded messages."""

from collections.abc import Awaitable, Callable, Iterable
from heapq import nsmallest
from typing import Any, Final

from gateway.broker.core.sessions.message import Message
from gateway.broker.server.control.latest_messages import LatestMessage, LatestMessages
from gateway.broker.server.control.long_lists import first_in_slices, fitting
from gateway.broker.server.control.payloads import payload_of
from gateway.broker.server.control.publishing import Publications
from gateway.broker.server.control.refused import Refused, text_of
from gateway.broker.server.control.topic_states import TopicStates
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.process.control.messages import LINE_BYTES_MAX

TOPICS_MAX: Final = 500
"""Maximum number of topics per answer."""
TOPICS_BYTES_MAX: Final = LINE_BYTES_MAX // 2
"""Maximum size of the topics in an answer as JSON, in bytes."""
SLICE_TOPICS: Final = 1_000
"""Number of topics compared before the event loop serves clients again, which takes about a
millisecond."""


class Wanted:
    """Filter and position of a requested page of topics.

    The topics can be filtered by parent topic and by search string.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        """Parse a request for topics.

        Raises:
            Refused: the request does not conform to docs/formats/control-socket.md.
        """
        self.limit = request.get("limit", 100)
        if type(self.limit) is not int or not 1 <= self.limit <= TOPICS_MAX:
            raise Refused("bad_request", f"'limit' has to be 1 to {TOPICS_MAX}")
        self.is_retained_only = request.get("retained", False)
        if not isinstance(self.is_retained_only, bool):
            raise Refused("bad_request", "'retained' has to be true or false")
        self._search = text_of(request, "search", "").casefold()
        self._below = text_of(request, "below", "")
        self._after = order_of(text_of(request, "after", ""))

    def first_of(self, topics: Iterable[str]) -> list[str]:
        """Return the requested page's topics, and one more topic if another page follows."""
        return nsmallest(self.limit + 1, filter(self._has, topics), key=order_of)

    def _has(self, topic: str) -> bool:
        if self._below and topic != self._below and not topic.startswith(f"{self._below}/"):
            return False
        if self._search and self._search not in topic.casefold():
            return False
        return not self._after or order_of(topic) > self._after


class TopicCommands:
    """Handlers for the commands about topics.

    The list of topics is built from the retained messages and the newest journal data. All calls
    must come from the same event loop.
    """

    def __init__(self, event_loop: EventLoop) -> None:
        self._retained = event_loop.broker.state.retained
        self._latest = LatestMessages(event_loop.committer.writer.recent)
        self._publications = Publications(event_loop)
        self._states = TopicStates(event_loop)

    @property
    def commands(
        self,
    ) -> dict[str, Callable[[dict[str, Any]], dict[str, Any] | Awaitable[dict[str, Any]]]]:
        """Handler functions for the commands about topics, keyed by command name."""
        return {
            "topics": self.listed,
            **self._states.commands,
            **self._publications.commands,
        }

    async def listed(self, request: dict[str, Any]) -> dict[str, Any]:
        """Handle the command `topics`.

        The topics are sorted in small steps that do not block the event loop.

        Raises:
            Refused: the request does not conform to docs/formats/control-socket.md.
        """
        wanted = Wanted(request)
        latest = self._latest.by_topic
        if not wanted.is_retained_only:
            await self._latest.update()
        names = await first_in_slices(self._all(wanted), wanted.first_of, SLICE_TOPICS)
        shown = fitting(
            (
                _shown(name, self._retained.get(name), latest.get(name))
                for name in names[: wanted.limit]
            ),
            TOPICS_BYTES_MAX,
        )
        is_complete = len(shown) == len(names)
        return {"topics": shown, "next": None if is_complete else shown[-1]["topic"]}

    def _all(self, wanted: Wanted) -> list[str]:
        """Return all known topics without duplicates. The caller selects the requested page.

        These are the topics with a retained message and, unless `wanted` excludes them, the topics
        with a recently recorded message.
        """
        retained = list(self._retained)
        if wanted.is_retained_only:
            return retained
        return retained + [each for each in self._latest.by_topic if each not in self._retained]


def order_of(topic: str) -> str:
    """Return a sort key that places a topic directly before the topics below it.

    Each slash is replaced by a NUL character, which sorts before all others. No topic contains a
    NUL character [MQTT-1.5.4-2].
    """
    return topic.replace("/", "\0")


def _shown(topic: str, retained: Message | None, latest: LatestMessage | None) -> dict[str, Any]:
    is_same = retained is not None and latest is not None and latest.number == retained.number
    time_ms = latest.time_ms if latest is not None and is_same else None
    return {
        "topic": topic,
        "retained": None if retained is None else _retained_of(retained, time_ms),
        "latest": None if latest is None or is_same else latest.shown(),
    }


def _retained_of(message: Message, time_ms: int | None) -> dict[str, Any]:
    source = message.source
    return {
        **payload_of(message.payload, len(message.payload)),
        "qos": message.qos,
        "client_id": None if source is None else source.client_id or None,
        "time_ms": time_ms,
    }
