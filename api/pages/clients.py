"""Sessions that match a search: by a part of the client id, and by their state."""

from dataclasses import dataclass
from enum import StrEnum

from api import limits
from api.models.sessions import Session
from api.observer import Observer


class State(StrEnum):
    """Sessions that are shown."""

    ALL = "all"
    CONNECTED = "connected"
    AWAY = "away"
    DROPS = "drops"


@dataclass(frozen=True)
class Search:
    """Conditions that a session has to match."""

    text: str = ""
    state: State = State.ALL

    @property
    def is_narrow(self) -> bool:
        """True if it may leave out a session."""
        return bool(self.text) or self.state is not State.ALL

    def matches(self, session: Session) -> bool:
        """Return True if a session is shown. Letters match in either case."""
        if self.text and self.text.casefold() not in session.client_id.casefold():
            return False
        match self.state:
            case State.ALL:
                return True
            case State.CONNECTED:
                return session.connected
            case State.AWAY:
                return not session.connected
            case State.DROPS:
                return session.dropped_messages > 0


@dataclass(frozen=True)
class Found:
    """Sessions that match, in the order of their client ids."""

    sessions: list[Session]
    next: str | None
    """Client id after which the search continues; None: it is complete."""
    compared: int
    """Sessions that were compared."""


async def found_sessions(observer: Observer, search: Search, after: str | None) -> Found:
    """Return matching sessions after a client id, as many as a page has.

    A narrow search compares SESSIONS_SEARCHED_MAX sessions at most, and can be continued. Raises
    BrokerProblem or Refused.
    """
    if not search.is_narrow:
        page = await observer.sessions(after=after, limit=limits.SESSIONS_PER_PAGE)
        return Found(page.sessions, page.next, len(page.sessions))
    found: list[Session] = []
    compared = 0
    while compared < limits.SESSIONS_SEARCHED_MAX:
        page = await observer.sessions(after=after, limit=limits.SESSIONS_PER_SEARCH)
        for session in page.sessions:
            compared += 1
            if search.matches(session):
                found.append(session)
                if len(found) == limits.SESSIONS_PER_PAGE:
                    return Found(found, session.client_id, compared)
        after = page.next
        if after is None:
            break
    return Found(found, after, compared)
