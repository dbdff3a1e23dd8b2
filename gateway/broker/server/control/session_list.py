"""The commands `sessions` and `session`, which list the broker's sessions and show one of them.

The list can be filtered and sorted, and is divided into pages.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from heapq import nsmallest
from typing import Any, Final

from gateway.broker.core.sessions.session import Session
from gateway.broker.server.control.long_lists import first_in_slices, fitting
from gateway.broker.server.control.refused import Refused, text_of
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.broker.server.status.sessions import session_detail_of, session_of
from gateway.process.control.messages import LINE_BYTES_MAX

SESSIONS_BYTES_MAX: Final = LINE_BYTES_MAX - 64 * 1024
"""Maximum size of the sessions in one answer, in bytes: the longest line of the protocol minus some
space for the rest of the answer."""
SESSIONS_LISTED_MAX: Final = 1_000
SLICE_SESSIONS: Final = 1_000
"""Number of sessions compared before the event loop serves clients again, which takes about a
millisecond."""
STATES: Final = ("all", "connected", "away", "drops")
_SORTS: Final[dict[str, Callable[[Session], int]]] = {
    "queued": lambda session: -session.queued_count,
    "dropped": lambda session: -session.dropped_messages,
    "received": lambda session: -session.received_messages,
    "delivered": lambda session: -session.delivered_messages,
}
SORTS: Final = ("client_id", "last_seen", *_SORTS)
"""Sort orders: by name, longest silent first, or largest count first."""

_Key = tuple[int, str]


class Wanted:
    """Filter, sort order and position of a requested page of sessions."""

    def __init__(self, request: dict[str, Any], event_loop: EventLoop) -> None:
        """Parse a request for sessions.

        Raises:
            Refused: the request does not conform to docs/formats/control-socket.md.
        """
        self.limit = request.get("limit", 100)
        if not isinstance(self.limit, int) or not 1 <= self.limit <= SESSIONS_LISTED_MAX:
            raise Refused("bad_request", f"'limit' has to be 1 to {SESSIONS_LISTED_MAX}")
        now, time = asyncio.get_running_loop().time(), event_loop.broker.state.time
        time.advance(now)
        self._zero_ms = time.time_ms - int(now * 1000)
        """Gateway time, in milliseconds, at which the monotonic clock was zero."""
        self._search = text_of(request, "search", "").casefold()
        self._user = text_of(request, "user", "")
        self._state, self.sort = request.get("state", "all"), request.get("sort", "client_id")
        if self._state not in STATES or self.sort not in SORTS:
            raise Refused("bad_request", f"'state' is one of {STATES}, 'sort' one of {SORTS}")
        self._after = self._key_in(text_of(request, "after", ""))

    def _key_in(self, after: str) -> _Key | None:
        if not after or self.sort == "client_id":
            return (0, after) if after else None
        number, _, client_id = after.partition(" ")
        try:
            return int(number[:20]), client_id
        except ValueError:
            raise Refused("bad_request", "'after' has to be a `next` of the same 'sort'") from None

    def key_of(self, session: Session) -> _Key:
        """Return the key by which a session is sorted in the requested order."""
        if self.sort == "last_seen":
            return self._last_seen(session), session.client_id
        number = _SORTS.get(self.sort)
        return 0 if number is None else number(session), session.client_id

    def _last_seen(self, session: Session) -> int:
        """Return the gateway time at which a client was last seen, in milliseconds.

        Gateway time never jumps, so the times of different sessions can be compared.
        """
        if session.connection is None:
            return session.closed_ms
        return self._zero_ms + int(session.connection.last_packet * 1000)

    def next_after(self, session: Session) -> str:
        """Return the value for `after` in a request for the sessions that follow `session`."""
        number, client_id = self.key_of(session)
        return client_id if self.sort == "client_id" else f"{number} {client_id}"

    def first_of(self, sessions: Iterable[Session]) -> list[Session]:
        """Return the requested page's sessions, and one more session if another page follows."""
        return nsmallest(self.limit + 1, filter(self._has, sessions), key=self.key_of)

    def _has(self, session: Session) -> bool:
        if session.ended or not self._is_in_state(session):
            return False
        if self._search and self._search not in session.client_id.casefold():
            return False
        if self._user and session.username != self._user:
            return False
        return self._after is None or self.key_of(session) > self._after

    def _is_in_state(self, session: Session) -> bool:
        match self._state:
            case "connected":
                return session.connection is not None
            case "away":
                return session.connection is None
            case "drops":
                return session.dropped_messages > 0
        return True


class SessionCommands:
    """Handlers for the commands `sessions` and `session`.

    All calls must come from the same event loop.
    """

    def __init__(self, event_loop: EventLoop) -> None:
        self._event_loop = event_loop
        self._sessions = event_loop.broker.state.sessions

    @property
    def commands(self) -> dict[str, Callable[[dict[str, Any]], Any | Awaitable[Any]]]:
        """Handler functions for the commands about sessions, keyed by command name."""
        return {"sessions": self.listed, "session": self.shown}

    async def listed(self, request: dict[str, Any]) -> dict[str, Any]:
        """Handle the command `sessions`.

        The sessions are sorted in small steps that do not block the event loop.

        Raises:
            Refused: the request does not conform to docs/formats/control-socket.md.
        """
        wanted = Wanted(request, self._event_loop)
        sessions = list(self._sessions.values())
        found = await first_in_slices(sessions, wanted.first_of, SLICE_SESSIONS)
        shown = fitting(
            (session_of(each, self._event_loop) for each in found[: wanted.limit]),
            SESSIONS_BYTES_MAX,
        )
        is_complete = len(shown) == len(found)
        following = None if is_complete else wanted.next_after(found[len(shown) - 1])
        return {"sessions": shown, "next": following}

    def shown(self, request: dict[str, Any]) -> dict[str, Any]:
        """Handle the command `session`. Raises Refused if the session does not exist."""
        return session_detail_of(self.find(request), self._event_loop)

    def find(self, request: dict[str, Any]) -> Session:
        """Return the session that a request names. Raises Refused if there is no such session."""
        client_id = text_of(request, "client_id")
        session = self._sessions.get(client_id)
        if session is None:
            raise Refused("not_found", f"no session for client id {client_id[:200]!r}")
        return session
