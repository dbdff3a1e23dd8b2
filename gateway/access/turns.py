"""Who is next where logins have to wait: for a processor, or for a database.

A fixed number of logins is worked on at a time. Of those that wait, users that are known at their
address come first; else each address has one turn after the other, and within an address each user.
An address with failures has one place at a time, and pauses between its turns (`Guesses`).
"""

import asyncio
from collections import OrderedDict, deque

from gateway.access.guesses import Guesses
from gateway.access.login import Login

WAITING_MAX = 1_024
"""Logins that wait for one kind of check. With one more, the address that has the most of them
waiting loses the one that came last; the client is answered to try again."""

NEVER = float("inf")


class Busy(Exception):
    """There is no place to wait in."""


class Abandoned(Exception):
    """The client is gone, or was ended, while it waited."""


class Ticket:
    """A login that waits."""

    __slots__ = ("begins", "guesses", "login", "not_before", "origin", "place")

    def __init__(self, login: Login, guesses: Guesses, now: float) -> None:
        self.login = login
        self.guesses = guesses
        self.origin = login.origin
        self.place = guesses.place_of(self.origin, login.username)
        self.not_before = now + guesses.user_wait_seconds(self.place, now)
        self.begins: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_wanted(self) -> bool:
        """Whether anything waits for the check."""
        return not self.begins.done() and self.login.is_wanted()

    def free_at(self) -> float:
        """Return when its check may begin."""
        return max(self.not_before, self.guesses.free_at(self.place))


class Queue:
    """The logins of one address that wait, by user."""

    def __init__(self) -> None:
        self.by_user: OrderedDict[bytes, deque[Ticket]] = OrderedDict()
        self.count = 0

    def add(self, ticket: Ticket) -> None:
        """Let a login wait behind those of its user."""
        self.by_user.setdefault(ticket.place.user, deque()).append(ticket)
        self.count += 1

    def take(self, ticket: Ticket) -> None:
        """Take a login out; its user's turn comes again behind the others'."""
        waiting = self.by_user[ticket.place.user]
        waiting.remove(ticket)
        self.count -= 1
        if waiting:
            self.by_user.move_to_end(ticket.place.user)
        else:
            del self.by_user[ticket.place.user]

    def heads(self) -> list[Ticket]:
        """Return the next login of each user, in the order of their turns."""
        return [waiting[0] for waiting in self.by_user.values()]

    def newest_of_the_largest(self) -> Ticket:
        """Return the login that came last of the user who has most waiting."""
        return max(self.by_user.values(), key=len)[-1]


class Turns:
    """Lets `places` logins be worked on at a time."""

    def __init__(self, guesses: Guesses, places: int) -> None:
        self.delayed = 0
        """Logins that had to wait for what was guessed before, since the start."""
        self.waiting = 0
        self._guesses = guesses
        self._places = places
        self._queues: OrderedDict[str, Queue] = OrderedDict()
        self._running: dict[str, int] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self, login: Login) -> None:
        """Return when it is this login's turn; `end` has to follow.

        Raises:
            Busy: too many wait.
            Abandoned: the client does not wait any more.
        """
        now = asyncio.get_running_loop().time()
        ticket = Ticket(login, self._guesses, now)
        self.delayed += ticket.free_at() > now
        self._queues.setdefault(ticket.origin, Queue()).add(ticket)
        self.waiting += 1
        if self.waiting > WAITING_MAX:
            self._make_room()
        self._go_on()
        try:
            await ticket.begins
        except asyncio.CancelledError:
            if not ticket.begins.cancelled() and ticket.begins.exception() is None:
                self.end(login)  # its turn had come, and is not taken
            raise
        finally:
            del ticket  # what it raised holds this frame: a cycle

    def end(self, login: Login) -> None:
        """Give up the place of a login that had its turn."""
        origin = login.origin
        self._running[origin] -= 1
        if not self._running[origin]:
            del self._running[origin]
        self._go_on()

    def stop(self) -> None:
        """Let no login have a turn any more."""
        self._places = 0
        if self._timer is not None:
            self._timer.cancel()

    def _go_on(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self.waiting and sum(self._running.values()) < self._places:
            ticket, due = self._next(now)
            if ticket is None:
                if due < NEVER:
                    self._timer = loop.call_at(due, self._go_on)
                return
            self._take(ticket)
            if ticket.is_wanted:
                self._running[ticket.origin] = self._running.get(ticket.origin, 0) + 1
                self._queues_behind(ticket.origin)
                ticket.begins.set_result(None)
            elif not ticket.begins.done():
                ticket.begins.set_exception(Abandoned)

    def _next(self, now: float) -> tuple[Ticket | None, float]:
        """Return the login whose turn it is; else None, and when to look again."""
        found: Ticket | None = None
        due = NEVER
        for origin, queue in self._queues.items():
            for ticket in queue.heads():
                is_known = self._guesses.is_known(ticket.place)
                if not is_known and self._is_full(origin, ticket):
                    continue
                free_at = ticket.free_at() if ticket.is_wanted else now
                if free_at > now:
                    due = min(due, free_at)
                elif is_known:
                    return ticket, now
                elif found is None:
                    found = ticket
        return found, due

    def _is_full(self, origin: str, ticket: Ticket) -> bool:
        """Return whether an address with failures has its one place already."""
        return self._running.get(origin, 0) > 0 and self._guesses.is_suspect(ticket.place)

    def _take(self, ticket: Ticket) -> None:
        queue = self._queues[ticket.origin]
        queue.take(ticket)
        self.waiting -= 1
        if not queue.count:
            del self._queues[ticket.origin]

    def _queues_behind(self, origin: str) -> None:
        """Let the address have its next turn when all others had theirs."""
        if origin in self._queues:
            self._queues.move_to_end(origin)

    def _make_room(self) -> None:
        for queue in list(self._queues.values()):
            for waiting in list(queue.by_user.values()):
                for ticket in [each for each in waiting if not each.is_wanted]:
                    self._take(ticket)
                    if not ticket.begins.done():
                        ticket.begins.set_exception(Abandoned)
        if self.waiting > WAITING_MAX:
            largest = max(self._queues.values(), key=lambda queue: queue.count)
            ticket = largest.newest_of_the_largest()
            self._take(ticket)
            ticket.begins.set_exception(Busy)
