"""Sessions whose user is unknown, because data formats 1 and 2 did not record users.

The first user whose client resumes such a session becomes its owner. A session that was opened
without a user in a later format belongs to clients without a user, and only such clients can resume
it.
"""

import sqlite3
from typing import Final

from gateway.broker.core.state import State

KEY: Final = "owners_unknown_below"
"""Key of the row in `meta` that contains the number of the first session with a known owner."""

ALL: Final = "all"
"""Value of the row after the migration. The first startup replaces it once all sessions are loaded.
"""


def mark(state: State, value: str | None) -> None:
    """Mark the sessions whose owner is unknown, according to a row in the table `meta`.

    The first user who resumes such a session becomes its owner.

    Args:
        state: the broker's state, with all sessions loaded.
        value: `ALL` if all sessions without a user are affected, or the number of the first session
            that is not affected. None if the row does not exist.

    Raises:
        ValueError: if the value is neither an integer nor `ALL`.
    """
    if value is None:
        return
    below = state.next_session_number if value == ALL else int(value)
    for session in state.sessions.values():
        if session.number < below and session.username is None:
            session.owner_is_unknown = True


def resolve_all(connection: sqlite3.Connection, state: State) -> None:
    """Replace `ALL` in the row about unknown owners with the number of the next session.

    The row is in the table `meta`. If its value is not `ALL`, it is not changed. The owners of the
    next session and of all later sessions are known. Raises sqlite3.Error on failure.
    """
    connection.execute(
        "UPDATE meta SET value = ? WHERE key = ? AND value = ?",
        (str(state.next_session_number), KEY, ALL),
    )
