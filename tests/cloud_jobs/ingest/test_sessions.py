"""Each session is one row."""

from __future__ import annotations

from tests.cloud_jobs.conftest import Ingested


def test_a_session_is_one_row_however_many_batches_its_events_are_in(ingested: Ingested) -> None:
    (session,) = ingested.place.rows("sessions", "gateway = 'session'")
    assert (session.connects, session.disconnects, session.events) == (2, 2, 11)
    assert (session.messages_held, session.messages_released) == (3, 3)
    assert (session.close_reason, session.end_reason) == ("kicked", "expired")
    assert (session.state, session.address, session.clean) == ("ended", "[::1]:9", False)
    assert (session.first_sequence, session.last_sequence) == (1, 11)
    assert session.opened < session.connected < session.closed < session.ended
