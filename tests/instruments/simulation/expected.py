"""The expected state of a client's session and of its wills.

Whether the broker must have a session follows from what the client received before, from the
session's expiry, and from the end of the last connection at the broker. In the same way it follows
whether a will must, may, or must not be published.
"""

from typing import TYPE_CHECKING

from tests.instruments.simulation.attempt import Attempt
from tests.instruments.simulation.ledger import MUST, NEVER
from tests.instruments.simulation.plan import NEVER as NEVER_EXPIRES

if TYPE_CHECKING:
    from tests.instruments.simulation.connecting import Connecting

CLOCK_SLACK_SECONDS = 3.0
"""Events so close to the end of an interval may have either result."""

WRITTEN_SECONDS = 20.0
"""The end of a connection is on disk after this time: it is written within a second, but a disk may
stall or be full for some seconds.
"""


class Expected:
    """The expectations for one client, whose `connecting` has all connection attempts."""

    def __init__(self, connecting: "Connecting") -> None:
        self.connecting = connecting
        self.plan = connecting.plan
        self.world = connecting.world

    def present(self, attempt: Attempt) -> bool | None:
        """Return True if the session must exist, False if it must not, or None if it may."""
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
            # The broker cannot know how long the gateway was off, or it resumed the session at its
            # start.
            last = max(last, self.world.last_boot)
        away = attempt.link.opened_at - last
        return away > self.plan.expiry_seconds + CLOCK_SLACK_SECONDS

    def _was_written(self, when: float) -> bool:
        """Return True if the end of a connection was certainly on disk when the process ended."""
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
        """Decide what must have happened to the wills of the client's earlier connections."""
        delay = self.plan.will.delay_seconds if self.plan.will is not None else 0
        slack = CLOCK_SLACK_SECONDS + self.world.timeline.clock.lied_seconds
        for before in self.connecting.attempts[:-1]:
            will = before.will
            if will is None or not before.connack_released or before.goodbye_bytes:
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
