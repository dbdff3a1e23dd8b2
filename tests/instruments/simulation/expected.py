"""What must have become of a client's session and of its wills.

Whether the broker has to know a session follows from what the client had received before, from its
expiry, and from when the broker's end of the last connection was over. The same goes for wills:
from what was sent and what was seen it follows whether one must, may, or must not be published.
"""

from typing import TYPE_CHECKING

from tests.instruments.simulation.attempt import Attempt
from tests.instruments.simulation.ledger import MUST, NEVER
from tests.instruments.simulation.plan import NEVER as NEVER_EXPIRES

if TYPE_CHECKING:
    from tests.instruments.simulation.connecting import Connecting

CLOCK_SLACK_SECONDS = 3.0
"""Nothing is required of what happens so near to the end of an interval."""

WRITTEN_SECONDS = 20.0
"""The end of a connection is on disk by then, whatever the disk does meanwhile: it is written
within a second, and disks stall and are full for some."""


class Expected:
    """Of one client; all attempts are known to its `connecting`."""

    def __init__(self, connecting: "Connecting") -> None:
        self.connecting = connecting
        self.plan = connecting.plan
        self.world = connecting.world

    def present(self, attempt: Attempt) -> bool | None:
        """Return whether the session must (True) or must not (False) be there; None: it may."""
        if attempt.clean or attempt.session_before == "none":
            return False
        if attempt.session_before == "doubtful":
            return None
        if not self.may_have_expired():
            return True
        return False if self._has_surely_expired(attempt) else None

    def _has_surely_expired(self, attempt: Attempt) -> bool:
        ends = [before.link.broker_gone_at for before in self.connecting.attempts[:-1]]
        if None in ends:
            return False
        last = max(end for end in ends if end is not None)
        if not (self.world.timeline.clock.always_right and self._was_written(last)):
            # How long the gateway was off is not known, or it took up the session at the start.
            last = max(last, self.world.last_boot)
        away = attempt.link.opened_at - last
        return away > self.plan.expiry_seconds + CLOCK_SLACK_SECONDS

    def _was_written(self, when: float) -> bool:
        """Return whether the end of a connection was surely on disk when the process ended."""
        after = [end for end in self.world.machine.life_ends if end >= when]
        return not after or after[0] - when > WRITTEN_SECONDS

    def may_have_expired(self) -> bool:
        if self.plan.version < 5 or self.plan.expiry_seconds == NEVER_EXPIRES:
            return False
        gone_at = None
        for attempt in self.connecting.attempts:
            if attempt.link is self.connecting.kept_since:
                gone_at = attempt.ended_at()
        slack = CLOCK_SLACK_SECONDS + self.world.timeline.clock.lied_seconds
        return gone_at is not None and self.world.now - gone_at > self.plan.expiry_seconds - slack

    def settle_wills(self, attempt: Attempt, present: bool) -> None:
        """The client is back: what must have become of the wills of its earlier connections?"""
        delay = self.plan.will.delay_seconds if self.plan.will is not None else 0
        slack = CLOCK_SLACK_SECONDS + self.world.timeline.clock.lied_seconds
        for before in self.connecting.attempts[:-1]:
            will = before.will
            if will is None or not before.greeted or before.goodbye_bytes:
                continue
            gone_at = before.link.broker_gone_at
            if not delay or self.plan.version < 5 or not self.plan.persistent:
                will.will_goes_out = MUST
            elif (
                before is self.connecting.attempts[-2]
                and present
                and (gone_at is None or self.world.now - gone_at < delay - slack)
                and will.will_goes_out != MUST
            ):
                will.will_goes_out = NEVER
