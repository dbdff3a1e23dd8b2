"""Sessions without a known user, from formats 1 and 2, which did not record users.

Such a session passes to the first user whose client returns to it. A later session without a user
belongs to a client without one, and stays with such clients.
"""

import sqlite3
from typing import Final

from gateway.broker.core.state import State

KEY: Final = "owners_unknown_below"
"""The key of `meta` whose value is the number of the first session with a known owner."""

ALL: Final = "all"
"""The value from the migration until the first start has read all sessions."""


def mark(state: State, value: str | None) -> None:
    """Mark the sessions with an unknown owner, according to the row of `meta` (None: no such row).

    Raises:
        ValueError: the row is neither a number nor `ALL`.
    """
    if value is None:
        return
    below = state.next_session_number if value == ALL else int(value)
    for session in state.sessions.values():
        if session.number < below and session.username is None:
            session.owner_is_unknown = True


def settle(connection: sqlite3.Connection, state: State) -> None:
    """Replace `ALL` in the row by the next session number. Raises sqlite3.Error."""
    connection.execute(
        "UPDATE meta SET value = ? WHERE key = ? AND value = ?",
        (str(state.next_session_number), KEY, ALL),
    )
