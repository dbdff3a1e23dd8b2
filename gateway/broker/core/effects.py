"""Requests from the core to the event loop, and the event loop's responses.

The core's rules add requests to lists. The event loop processes the requests and passes each
response to the broker. A login by user name and password is one request. Enhanced authentication
(MQTT 5.0 section 4.12) takes one request for the CONNECT and one for each AUTH of the client.
"""

from mypy_extensions import mypyc_attr

from gateway.broker.core.limits import QUEUE_PAGE_MESSAGES
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import Delivery
from gateway.broker.core.sessions.session import NO_GROUPS, Session


class PageRequest:
    """A request to load a session's next queued messages from disk.

    `contents` lists messages in flight that must be loaded too, because they are only on disk.
    """

    def __init__(self, session: Session) -> None:
        session.pages_requested += 1
        self.session = session
        self.number = session.pages_requested
        self.first_position = session.stored_first
        self.count = min(session.stored_count, QUEUE_PAGE_MESSAGES)
        self.contents: list[int] = []
        """Numbers of messages in flight whose contents are only on disk."""


class HandOver:
    """A request to load the undelivered messages of a session that ends.

    The messages are then passed to other members of the session's shared subscriptions. `started`
    contains the session's deliveries in flight whose messages are only on disk. `count` is the
    number of queued messages on disk, and `first_position` is the queue position of the first one.
    """

    def __init__(self, session: Session, started: list[Delivery]) -> None:
        self.session = session
        self.first_position = session.stored_first
        self.count = session.stored_count
        self.started = started
        self.contents = [delivery.message_number for delivery in started]
        self.keys = dict(session.keys)


class AuthenticationRequest:
    """A request to check one step of a login.

    If `method` is None, `username` and `password` are checked. Otherwise `method` is the method of
    enhanced authentication, and `data` is checked.
    """

    def __init__(
        self,
        connection: Connection,
        username: str,
        password: bytes,
        method: str | None,
        data: bytes,
        is_first: bool,
    ) -> None:
        self.connection = connection
        self.username = username
        self.password = password
        self.method = method
        self.data = data
        """Authentication data of the CONNECT or AUTH packet."""
        self.is_first = is_first
        """True for the first request of a login."""


@mypyc_attr(allow_interpreted_subclasses=True)
class AuthenticationAnswer:
    """Response of the authenticator to an authentication request.

    `reason_code` is 0 if the client is accepted, and 0x80 or above if the client is refused. If the
    code is 0x18 (continue authentication), `data` must be sent to the client, and authentication
    continues when the client responds.
    """

    def __init__(
        self,
        reason_code: int,
        data: bytes | None,
        username: str | None,
        detail: str = "",
        lifetime_seconds: float | None = None,
        groups: frozenset[str] = NO_GROUPS,
    ) -> None:
        self.reason_code = reason_code
        self.data = data
        self.username = username
        """The authenticated user, if the client was accepted."""
        self.detail = detail
        """The reason for a refusal, for the log. If the client was already connected, it also gets
        this text as the reason string."""
        self.lifetime_seconds = lifetime_seconds
        """Maximum time that the client may stay connected, or None if unlimited."""
        self.groups = groups
        """The client's groups for the access rules, in addition to the groups in the rules file."""


class Effects:
    """The core's requests to the event loop, in one list for each kind of request.

    Each method returns one of these lists and empties it.
    """

    def __init__(self) -> None:
        self.writes: list[Connection] = []
        """Connections with bytes to send, or to be closed once the bytes are sent."""
        self.pages: list[PageRequest] = []
        """Queued messages to load when there is time. Pass them to `Broker.page_loaded`."""
        self.hand_overs: list[HandOver] = []
        """Messages to load before the batch is sealed. Pass them to `Broker.handed_over`."""
        self.logins: list[AuthenticationRequest] = []
        """Credentials to check. Pass the response to `Broker.authenticated`."""
        self.resumed: list[Connection] = []
        """Connections whose deferred packets can be processed now."""
        self.system_subscriptions: dict[tuple[int, str], Session] = {}
        """New subscriptions below `$SYS`, by session number and filter. Their clients get the
        current values from `Broker.answer_system_subscriptions`."""

    def take_writes(self) -> list[Connection]:
        """Return and clear the list of connections that have bytes to send or must be closed."""
        writes = self.writes
        self.writes = []
        return writes

    def take_pages(self) -> list[PageRequest]:
        """Return and clear the list of requests to load queued messages from disk."""
        pages = self.pages
        self.pages = []
        return pages

    def take_hand_overs(self) -> list[HandOver]:
        """Return and clear the list of requests to load the messages of ended sessions.

        Load these messages before calling `Broker.seal`.
        """
        hand_overs = self.hand_overs
        self.hand_overs = []
        return hand_overs

    def take_resumed(self) -> list[Connection]:
        """Return and clear the list of connections whose deferred packets can be processed now."""
        resumed = self.resumed
        self.resumed = []
        return resumed

    def take_logins(self) -> list[AuthenticationRequest]:
        """Return and clear the list of requests to check credentials."""
        logins = self.logins
        self.logins = []
        return logins
