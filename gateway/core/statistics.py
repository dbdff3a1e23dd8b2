"""What the broker counts and remarks. Nothing is dropped or refused without a number going up."""

from typing import Final

NOTICES_MAX: Final = 100
"""Sentences kept for the log until the shell takes them; more are only counted."""


class Statistics:
    """Counters since the start of the process; `errors` and `dropped` by reason."""

    def __init__(self) -> None:
        self.connections_accepted = 0
        self.connections_refused = 0
        self.connections_open = 0
        self.received_qos0 = 0
        self.received_qos1 = 0
        self.received_qos2 = 0
        self.sent_qos0 = 0
        self.sent_qos1 = 0
        self.sent_qos2 = 0
        self.duplicates_suppressed = 0
        self.resent = 0
        self.abandoned = 0
        self.dropped: dict[str, int] = {}
        self.errors: dict[str, int] = {}

        self.notices: list[tuple[str, str]] = []
        self.notices_left_out = 0

    def note(self, sentence: str, client_id: str = "") -> None:
        """Keep a sentence for the log: what was dropped or refused, for whom, and why."""
        if len(self.notices) < NOTICES_MAX:
            self.notices.append((sentence, client_id))
        else:
            self.notices_left_out += 1

    def count_error(self, reason: str) -> None:
        """Count something a peer did wrong or a limit it met."""
        self.errors[reason] = self.errors.get(reason, 0) + 1

    def count_drop(self, reason: str) -> None:
        """Count a message that one receiver will not get."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1

    def count_received(self, qos: int) -> None:
        """Count a PUBLISH that was accepted."""
        if qos == 0:
            self.received_qos0 += 1
        elif qos == 1:
            self.received_qos1 += 1
        else:
            self.received_qos2 += 1
