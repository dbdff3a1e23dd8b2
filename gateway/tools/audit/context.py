"""The state that the checks of a session log share, and methods that report their findings."""

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.tools.audit.findings import Finding, Findings, FindingVerdict
from gateway.tools.audit.session_state import SessionState
from gateway.tools.audit.subscriptions import Subscriptions

Event = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Place:
    """The message, session and events that a finding concerns.

    If `segment` is None, the finding concerns the segment of the current event.
    """

    message: int | None = None
    session: SessionState | None = None
    sequences: tuple[int, ...] = ()
    segment: str | None = None


class Context:
    """State shared by all checks of one log.

    `epoch` is the number of breaks so far. A break is a place in the log where events are missing,
    or might be missing. A contradiction between two events is a violation only if there is no break
    between them, because missing events might explain it.
    """

    def __init__(self, findings: Findings, gateway: str, store: str) -> None:
        self.findings = findings
        self.counts = findings.counts
        self.gateway = gateway
        self.store = store
        self.epoch = 0
        self.sequence = 0
        self.time_ms = 0
        self.segment = ""
        self.sessions: dict[int, SessionState] = {}
        self.highest_session = 0
        self.subscriptions = Subscriptions()

    @property
    def is_whole(self) -> bool:
        """True if no events are missing since the database was created."""
        return self.epoch == 0

    def report(
        self,
        check: str,
        detail: str,
        *,
        epoch: int,
        message: int | None = None,
        session: SessionState | None = None,
        since: int | None = None,
    ) -> None:
        """Report that the current event contradicts an earlier event.

        The finding is a violation if both events have the same epoch. Otherwise it is inconclusive.

        Args:
            check: name of the check that failed.
            detail: description of the finding.
            epoch: the earlier event's epoch (the number of breaks before it).
            message: number of the message concerned.
            session: session concerned.
            since: the earlier event's sequence number, if it is known.
        """
        is_firm = epoch == self.epoch
        sequences = (self.sequence,) if since in (None, self.sequence) else (since, self.sequence)
        self.add(
            "violation" if is_firm else "inconclusive",
            check,
            detail if is_firm else f"{detail}; the log is not whole here, so this proves nothing",
            Place(message, session, tuple(each for each in sequences if each is not None)),
        )

    def add(
        self,
        verdict: FindingVerdict,
        check: str,
        detail: str,
        place: Place = Place(),
    ) -> None:
        """Report a finding. The verdict is "violation" or "inconclusive".

        `check` is the name of the check, `detail` describes the finding, and `place` contains the
        message, session and events that the finding concerns.
        """
        session = place.session
        self.findings.add(
            Finding(
                verdict,
                check,
                self.gateway,
                self.store,
                detail,
                place.message,
                session.number if session is not None else None,
                session.client_id if session is not None else None,
                place.sequences,
                place.segment if place.segment is not None else self.segment,
            )
        )

    def session_of(self, event: Event) -> SessionState:
        """Return the session that an event names. The event must concern a persistent session."""
        number = event["session"]
        assert isinstance(number, int)
        session = self.sessions.get(number)
        if session is None:
            session = self._unknown(number, str(event["client_id"]), str(event["event"]))
        return session

    def _unknown(self, number: int, client_id: str, kind: str) -> SessionState:
        # Without a break, the log contains the opening of every session.
        session = SessionState(number, client_id, None, True, self.epoch if self.is_whole else -1)
        session.lose_track()
        if self.is_whole:
            known = "has ended" if number <= self.highest_session else "was never opened"
            self.report(
                "session",
                f"{kind} for a session that {known}",
                epoch=self.epoch,
                session=session,
            )
        self.sessions[number] = session
        return session
