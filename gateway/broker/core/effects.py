"""Requests of the core to the event loop, and the answers.

The rules add requests; the event loop takes them and passes each answer to the broker. A login by
user name and password is one request. Enhanced authentication (MQTT 5.0 section 4.12) takes one
request for each AUTH packet of the client.
"""

from mypy_extensions import mypyc_attr

from gateway.broker.core.limits import QUEUE_PAGE_MESSAGES
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import Delivery
from gateway.broker.core.sessions.session import NO_GROUPS, Session


class PageRequest:
    """A request to read messages from disk before a session can continue."""

    def __init__(self, session: Session) -> None:
        session.pages_requested += 1
        self.session = session
        self.number = session.pages_requested
        self.first_position = session.stored_first
        self.count = min(session.stored_count, QUEUE_PAGE_MESSAGES)
        self.contents: list[int] = []
        """Numbers of messages in flight that are only on disk."""


class HandOver:
    """A request to read an ended session's stored messages.

    These are `stored_count` positions of its queue from `stored_first`, and messages in flight.
    """

    def __init__(self, session: Session, started: list[Delivery]) -> None:
        self.session = session
        self.first_position = session.stored_first
        self.count = session.stored_count
        self.started = started
        self.contents = [delivery.message_number for delivery in started]
        self.keys = dict(session.keys)


class AuthenticationRequest:
    """A step of a login to check. `method` None: check `username` and `password`."""

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
        """True if the exchange starts with this request."""


@mypyc_attr(allow_interpreted_subclasses=True)
class AuthenticationAnswer:
    """Answer of the authenticator to a request.

    `reason_code` 0: accepted; 0x18: send `data` to the client, which must answer; 0x80 and above:
    refused.
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
        """The user, if the client was accepted."""
        self.detail = detail
        """Why a client was refused: for the log, and for the reason string if it was connected
        already."""
        self.lifetime_seconds = lifetime_seconds
        """How long an accepted client may stay connected; None: unlimited."""
        self.groups = groups
        """The client's groups for the access rules, in addition to those in the rules file."""


class Effects:
    """Lists of requests. Taking a list empties it."""

    def __init__(self) -> None:
        self.writes: list[Connection] = []
        """Connections with bytes to send, or to be closed after that."""
        self.pages: list[PageRequest] = []
        """Pages to read when there is time; the answer is passed to `Broker.page_loaded`."""
        self.hand_overs: list[HandOver] = []
        """Queues to read before the batch is sealed; the answer is passed to
        `Broker.handed_over`."""
        self.logins: list[AuthenticationRequest] = []
        """Credentials to check; the answer is passed to `Broker.authenticated`."""
        self.resumed: list[Connection] = []
        """Connections whose deferred messages no longer wait: they are behind."""
        self.system_subscriptions: dict[tuple[int, str], Session] = {}
        """New subscriptions below `$SYS`, by session number and filter, that need the current
        values: `Broker.answer_system_subscriptions`."""

    def take_writes(self) -> list[Connection]:
        """Return the connections that have bytes to write."""
        writes = self.writes
        self.writes = []
        return writes

    def take_pages(self) -> list[PageRequest]:
        """Return the pages to read from disk."""
        pages = self.pages
        self.pages = []
        return pages

    def take_hand_overs(self) -> list[HandOver]:
        """Return the queues to read from disk before the batch is sealed."""
        hand_overs = self.hand_overs
        self.hand_overs = []
        return hand_overs

    def take_resumed(self) -> list[Connection]:
        """Return the connections that continue with `Broker.go_on`."""
        resumed = self.resumed
        self.resumed = []
        return resumed

    def take_logins(self) -> list[AuthenticationRequest]:
        """Return the credentials to check."""
        logins = self.logins
        self.logins = []
        return logins
