"""Start of the core from recovered state, and the effects of the time that has passed meanwhile."""

from gateway.broker.core.core import Core
from gateway.broker.core.records.kinds import CloseReason
from gateway.broker.core.rules.disconnect import Disconnection
from gateway.broker.core.rules.publish import Publisher
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.timers import Timer, TimerKind


class Restart:
    """Ends the previous run's connections, and schedules the timers of their sessions."""

    def __init__(self, core: Core, disconnecting: Disconnection, publisher: Publisher) -> None:
        self.state = core.state
        self.recorder = core.recorder
        self.timers = core.timers
        self.time = core.time
        self.disconnecting = disconnecting
        self.publisher = publisher

    def take_up(self, now: float) -> None:
        """Close the sessions of the previous run, and publish or schedule their wills."""
        for session in list(self.state.sessions.values()):
            if not session.closed_ms:
                self.recorder.session_closed(session, CloseReason.RESTART, self.time.time_ms)
            session.away_since = now - self.time.age_ms(session.closed_ms) / 1000
            self.disconnecting.schedule_expiry(session, now)
        self._find_empty()
        for session in list(self.state.wills.values()):
            if session.ended or not session.persistent:
                self.publisher.publish_will(session, now)
            else:
                self.disconnecting.schedule_will(session, now)

    def _find_empty(self) -> None:
        """Mark empty sessions as available for clients that find no place, oldest first."""
        empty = [session for session in self.state.sessions.values() if _is_empty(session)]
        empty.sort(key=lambda session: session.closed_ms)
        for session in empty:
            if session.owner is not None:
                session.owner.empty[session] = None

    def count_time_switched_off(self, now: float) -> None:
        """Add the time of an outage to the absence of sessions, because their timers missed it."""
        for session in self.state.sessions.values():
            if session.connection is None:
                session.away_since = now - self.time.age_ms(session.closed_ms) / 1000
                self.disconnecting.schedule_expiry(session, now)
                if session.will is not None:
                    self.timers.add(now, Timer(TimerKind.WILL_DELAY, None, session))


def _is_empty(session: Session) -> bool:
    """Return True if a session has no subscriptions, no messages in either direction and no
    will.
    """
    return not (
        session.subscriptions
        or session.queued_count
        or session.inbound_bytes
        or len(session.outbound)
        or session.will is not None
    )
