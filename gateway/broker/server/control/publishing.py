"""The commands `publish` and `clear_retained`, for operators at the status page."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from gateway.broker.access.rules.defaults import PAGE_LISTENER
from gateway.broker.access.rules.line import rule_allowing
from gateway.broker.core.topics.route import is_system_topic
from gateway.broker.server.control.page_client import VERSION, Answer, PageClient
from gateway.broker.server.control.refused import Refused, text_of
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.broker.wire.codes import (
    NO_MATCHING_SUBSCRIBERS,
    NOT_AUTHORIZED,
    QUOTA_EXCEEDED,
    SERVER_BUSY,
    SERVER_UNAVAILABLE,
)
from gateway.broker.wire.packets import Connack, Disconnect
from gateway.broker.wire.topics import validate_topic_name

TOPIC_CHARACTERS_MAX: Final = 1_024
"""Maximum length of a topic in characters. The status page puts topics into addresses and forms."""
PAYLOAD_BYTES_MAX: Final = 8_192
"""Maximum size of a payload, which is meant for test messages. A form of the status page has at
most 36 KiB, and a byte of the payload may take three bytes there."""
PUBLISHING_MAX: Final = 8
"""Maximum number of messages being published concurrently. The status page has the same limit for
concurrent actions."""
ANSWER_SECONDS_MAX: Final = 10.0
"""Maximum wait until a message is durable, in seconds: less than the 15 s for which the status page
waits."""
_ADDRESS_CHARACTERS_MAX: Final = 64

_REASONS: Final = {
    QUOTA_EXCEEDED: "a limit is reached: of the disk, of retained messages or of a queue",
    SERVER_BUSY: "the broker has no room for another message",
    SERVER_UNAVAILABLE: "the broker has as many connections as it may have",
}

Request = dict[str, Any]


class Publications:
    """Handlers for commands that publish messages. The operator's access rules apply."""

    def __init__(self, event_loop: EventLoop) -> None:
        self._event_loop = event_loop
        self._under_way = 0

    @property
    def commands(self) -> dict[str, Callable[[Request], Awaitable[Request]]]:
        """Handler functions for the commands about publishing, keyed by command name."""
        return {"publish": self.publish, "clear_retained": self.clear}

    async def publish(self, request: Request) -> Request:
        """Publish a message.

        Raises Refused if the request is invalid, or the broker rejects the message.
        """
        topic, payload = _topic_in(request), _payload_in(request)
        qos, retain = request.get("qos", 1), request.get("retain", False)
        if type(qos) is not int or qos not in (1, 2) or not isinstance(retain, bool):
            raise Refused("bad_request", "'qos' is 1 or 2, 'retain' true or false")
        if retain and not payload:
            raise Refused("bad_request", "an empty retained message clears the topic: clear it")
        answer = await self._sent(request, topic, payload, qos=qos, retain=retain)
        route = self._event_loop.broker.state.tree.route_of(topic)
        return {
            "published": True,
            "matched": answer.reason_code != NO_MATCHING_SUBSCRIBERS,
            "receivers": route.count(),
            "denied": route.refused,
        }

    async def clear(self, request: Request) -> Request:
        """Remove the retained message of a topic by publishing an empty one.

        Raises Refused if the request is invalid, the topic has no retained message, or the broker
        rejects the empty message.
        """
        topic = _topic_in(request)
        if topic not in self._event_loop.broker.state.retained:
            raise Refused("not_found", f"no message is retained for {topic[:200]!r}")
        await self._sent(request, topic, b"", qos=1, retain=True)
        return {"cleared": True}

    async def _sent(
        self, request: Request, topic: str, payload: bytes, *, qos: int, retain: bool
    ) -> Answer:
        username = self._username_of(request)
        if VERSION not in self._event_loop.limits.protocol_versions:
            raise Refused("refused", "the page publishes with MQTT 5.0, which is switched off")
        if self._under_way >= PUBLISHING_MAX:
            raise Refused("busy", "other messages are being published: try again in a moment")
        self._under_way += 1
        client = PageClient(
            self._event_loop,
            listener=PAGE_LISTENER,
            address=_address_in(request),
            username=username,
        )
        try:
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                answer = await client.publish(topic, payload, qos=qos, retain=retain)
        except TimeoutError:
            raise Refused(
                "busy", f"not durable within {ANSWER_SECONDS_MAX:g} s; it may still be published"
            ) from None
        finally:
            self._under_way -= 1
            client.leave()
        page = f"listener {PAGE_LISTENER}"
        return _accepted(answer, rule_allowing("publish", topic, username, otherwise=page))

    def _username_of(self, request: Request) -> str | None:
        """Return the name of the operator who publishes, or None if the caller is not a person.

        Raises Refused if the user was removed.
        """
        if "by" not in request or request.get("program") is True:
            return None
        username = text_of(request, "by")
        if username in self._event_loop.broker.removed_users:
            raise Refused("denied", f"the user {username[:200]!r} was removed")
        return username


def _topic_in(request: Request) -> str:
    topic = text_of(request, "topic")
    problem = validate_topic_name(topic)
    if problem is not None:
        raise Refused("bad_request", f"'topic': {problem}")
    if len(topic) > TOPIC_CHARACTERS_MAX:
        raise Refused("bad_request", f"'topic' has at most {TOPIC_CHARACTERS_MAX} characters")
    if is_system_topic(topic):
        raise Refused("bad_request", "'topic': only the broker publishes below $SYS")
    return topic


def _payload_in(request: Request) -> bytes:
    try:
        payload = text_of(request, "payload", "").encode()
    except UnicodeEncodeError:
        raise Refused("bad_request", "'payload' is not text: it has half a character") from None
    if len(payload) > PAYLOAD_BYTES_MAX:
        raise Refused("bad_request", f"'payload' has at most {PAYLOAD_BYTES_MAX} bytes")
    return payload


def _address_in(request: Request) -> str:
    """Return the address of the operator who sent a request, as shown in the session log."""
    text = text_of(request, "from", "local")[:_ADDRESS_CHARACTERS_MAX]
    return f"page:{text}" if text.isascii() and text.isprintable() else "page"


def _accepted(answer: Answer | None, rule: str) -> Answer:
    """Return the broker's response to a PUBLISH if it reports success.

    `rule` is an access rule that would allow the PUBLISH. It is shown in the error message if the
    existing access rules denied the PUBLISH.

    Raises:
        Refused: the response reports a failure, or the broker closed the connection without a
            response.
    """
    if answer is None:
        raise Refused("refused", "the broker closed the connection")
    code = answer.reason_code
    if code < 0x80 and not isinstance(answer, (Connack, Disconnect)):
        return answer
    properties = answer.properties
    stated = None if properties is None else properties.reason_string
    if code == NOT_AUTHORIZED:
        raise Refused(
            "denied",
            "the access rules do not allow this user to publish to this topic from the page. The "
            f"rule `{rule}` would allow it",
        )
    raise Refused("refused", stated or _REASONS.get(code) or f"reason code 0x{code:02X}")
