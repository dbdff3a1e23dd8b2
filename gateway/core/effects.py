"""What the event loop has to do for the core. The rules collect it, the event loop takes it."""

from gateway.core.limits import QUEUE_PAGE_MESSAGES
from gateway.core.rules.authenticate import AuthenticationRequest
from gateway.core.sessions.connection import Connection
from gateway.core.sessions.message import Delivery
from gateway.core.sessions.session import Session


class PageRequest:
    """Contents that have to be read from disk before a session can go on."""

    def __init__(self, session: Session) -> None:
        session.pages_requested += 1
        self.session = session
        self.number = session.pages_requested
        self.first_position = session.stored_first
        self.count = min(session.stored_count, QUEUE_PAGE_MESSAGES)
        self.contents: list[int] = []
        """Numbers of messages in flight whose contents are on disk only."""


class HandOver:
    """What an ended session had on disk: `stored_count` positions of its queue from
    `stored_first` on, and contents of messages in flight."""

    def __init__(self, session: Session, started: list[Delivery]) -> None:
        self.session = session
        self.first_position = session.stored_first
        self.count = session.stored_count
        self.started = started
        self.contents = [delivery.message_number for delivery in started]
        self.keys = dict(session.keys)


class Effects:
    """Lists that are empty again once they are taken."""

    def __init__(self) -> None:
        self.writes: list[Connection] = []
        """Connections that have bytes to send, or are to be closed behind them."""
        self.pages: list[PageRequest] = []
        """To be read whenever there is time; the answer goes to `Broker.page_loaded`."""
        self.hand_overs: list[HandOver] = []
        """To be read before the batch is sealed; the answer goes to `Broker.handed_over`."""
        self.logins: list[AuthenticationRequest] = []
        """To be checked; the answer goes to `Broker.authenticated`."""
        self.system_subscriptions: dict[tuple[int, str], Session] = {}
        """New subscriptions below `$SYS`, by session's number and filter, that are to get the
        values of now: `Broker.answer_system_subscriptions`."""

    def take_writes(self) -> list[Connection]:
        """Return the connections to write to."""
        writes = self.writes
        self.writes = []
        return writes

    def take_pages(self) -> list[PageRequest]:
        """Return what is to be read from disk."""
        pages = self.pages
        self.pages = []
        return pages

    def take_hand_overs(self) -> list[HandOver]:
        """Return what is to be read from disk before the batch is sealed."""
        hand_overs = self.hand_overs
        self.hand_overs = []
        return hand_overs

    def take_logins(self) -> list[AuthenticationRequest]:
        """Return the credentials to check."""
        logins = self.logins
        self.logins = []
        return logins
