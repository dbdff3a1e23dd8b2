"""The command `topic_states`, which shows the retained messages and receivers of topics."""

from collections.abc import Callable
from itertools import chain, islice
from typing import Any, Final

from gateway.broker.core.topics.route import Route
from gateway.broker.server.control.refused import Refused
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.broker.wire.topics import validate_topic_name

TOPICS_MAX: Final = 8
"""Maximum number of topics in a request. The status page requests the topics of one device."""
TOPIC_CHARACTERS_MAX: Final = 1_024
"""Maximum length of a topic in characters, so that the answer fits into one line."""
PAYLOAD_BYTES_MAX: Final = 128 * 1024
"""Maximum total size of the payloads in an answer, in bytes. A device description with 128 values
has 40 kB. Each byte may take six bytes in JSON, and a line of the protocol has at most 1 MiB."""
CLIENTS_NAMED_MAX: Final = 8
"""Maximum number of client ids for each topic. Further clients are only counted."""
SESSIONS_EXAMINED_MAX: Final = 1_000
"""Maximum number of a topic's receivers that are checked for a connection: a millisecond's work."""
CLIENT_ID_CHARACTERS_MAX: Final = 256
"""Maximum length of a client id that is named, so that the answer fits into one line."""

Request = dict[str, Any]


class TopicStates:
    """Handler for the command `topic_states`. All calls must come from the same event loop."""

    def __init__(self, event_loop: EventLoop) -> None:
        self._state = event_loop.broker.state

    @property
    def commands(self) -> dict[str, Callable[[Request], Request]]:
        """Handler function for the command `topic_states`, keyed by command name."""
        return {"topic_states": self.shown}

    def shown(self, request: Request) -> Request:
        """Handle the command `topic_states`.

        Raises Refused if the request does not conform to docs/formats/control-socket.md.
        """
        shown: list[Request] = []
        bytes_left = PAYLOAD_BYTES_MAX
        for topic in _topics_in(request):
            retained = self._state.retained.get(topic)
            payload = None if retained is None else retained.payload
            if payload is not None and len(payload) <= bytes_left:
                bytes_left -= len(payload)
                text = _text_of(payload)
            else:
                text = None
            shown.append(
                {
                    "topic": topic,
                    "is_retained": payload is not None,
                    "text": text,
                    **_receivers_of(self._state.tree.route_of(topic)),
                }
            )
        return {"topics": shown}


def _topics_in(request: Request) -> list[str]:
    topics = request.get("topics")
    if not isinstance(topics, list) or not 1 <= len(topics) <= TOPICS_MAX:
        raise Refused("bad_request", f"'topics' is a list of 1 to {TOPICS_MAX} topics")
    for each in topics:
        if not isinstance(each, str) or not 1 <= len(each) <= TOPIC_CHARACTERS_MAX:
            raise Refused(
                "bad_request", f"a topic is text of 1 to {TOPIC_CHARACTERS_MAX} characters"
            )
        problem = validate_topic_name(each)
        if problem is not None:
            raise Refused("bad_request", f"'topics': {problem}")
    return topics


def _text_of(payload: bytes) -> str | None:
    """Return a payload as a string, or None if it is not UTF-8."""
    try:
        return bytes(payload).decode()
    except UnicodeDecodeError:
        return None


def _receivers_of(route: Route) -> Request:
    """Return the fields about a topic's subscribers in the answer to `topic_states`.

    `receivers` is the number of subscribers that may receive messages with this topic. `denied` is
    the number of subscribers that may not, because of the access rules. `clients` lists the
    identifiers of connected receivers, at most CLIENTS_NAMED_MAX.
    """
    groups = [group.members for group in route.groups]
    sessions = chain([target.session for target in route.targets], *groups)
    connected = [
        each.client_id
        for each in islice(sessions, SESSIONS_EXAMINED_MAX)
        if each.connection is not None and len(each.client_id) <= CLIENT_ID_CHARACTERS_MAX
    ]
    return {
        "receivers": len(route.targets) + sum(len(members) for members in groups),
        "denied": route.refused,
        "clients": sorted(set(connected))[:CLIENTS_NAMED_MAX],
    }
