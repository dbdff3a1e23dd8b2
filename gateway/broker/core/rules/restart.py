"""Sets the timers of recovered sessions and wills after the broker has restarted."""

from gateway.broker.core.core import Core
from gateway.broker.core.records.kinds import CloseReason
from gateway.broker.core.rules.connect import disconnect
from gateway.broker.core.rules.publish import publish
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.timers import Timer, TimerKind


def resume_all(core: Core, now: float) -> None:
    """Schedule the expiry of the recovered sessions, and publish or schedule their wills.

    Sessions that were connected in the previous run are recorded as closed.
    """
    for session in list(core.state.sessions.values()):
        if not session.closed_ms:
            core.recorder.session_closed(session, CloseReason.RESTART, core.time.time_ms)
        session.away_since = now - core.time.age_ms(session.closed_ms) / 1000
        disconnect.schedule_expiry(core, session, now)
    _find_empty(core)
    for session in list(core.state.wills.values()):
        if session.ended or not session.persistent:
            publish.publish_will(core, session, now)
        else:
            disconnect.schedule_will(core, session, now)


def _find_empty(core: Core) -> None:
    """Find the empty sessions, and store them in a list for each user, oldest first.

    These sessions may be deleted to make room for new sessions.
    """
    empty = [session for session in core.state.sessions.values() if _is_empty(session)]
    empty.sort(key=lambda session: session.closed_ms)
    for session in empty:
        if session.owner is not None:
            session.owner.empty[session] = None


def count_time_switched_off(core: Core, now: float) -> None:
    """Add the duration of an outage to the time for which each client has been disconnected.

    This is necessary because timers did not run while the gateway was switched off.
    """
    for session in core.state.sessions.values():
        if session.connection is None:
            session.away_since = now - core.time.age_ms(session.closed_ms) / 1000
            disconnect.schedule_expiry(core, session, now)
            if session.will is not None:
                core.timers.add(now, Timer(TimerKind.WILL_DELAY, None, session))


def _is_empty(session: Session) -> bool:
    """Return True if a session has no subscriptions, no will, and no messages in any direction."""
    return not (
        session.subscriptions
        or session.queued_count
        or session.inbound_bytes
        or len(session.outbound)
        or session.will is not None
    )
