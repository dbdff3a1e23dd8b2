"""Schedules logins that wait for a CPU or for a database connection.

The number of logins that are processed concurrently is limited. Logins of users who recently logged
in from the same address are processed first. Otherwise, the addresses take turns, and so do the
users of one address. If an address has failed logins, only one login from this address is processed
at a time, with pauses between the logins (`Guesses`).
"""

import asyncio
from collections import OrderedDict, deque

from gateway.broker.access.logins.guesses import Guesses
from gateway.broker.access.logins.login import Login

WAITING_MAX = 1_024
"""Logins queued for one kind of check, at most.

Beyond this limit, the latest login from the address with the most queued logins is rejected as
busy.
"""

NEVER = float("inf")


class Busy(Exception):
    """Error raised if the queue of logins is full."""


class Abandoned(Exception):
    """Error raised if the client disconnected, or was disconnected, while its login was queued."""


class Ticket:
    """A login in the queue, with the time at which its check may start."""

    __slots__ = ("begins", "guesses", "keys", "login", "not_before", "origin")

    def __init__(self, login: Login, guesses: Guesses, now: float) -> None:
        self.login = login
        self.guesses = guesses
        self.origin = login.origin
        self.keys = guesses.keys_of(self.origin, login.username)
        self.not_before = now + guesses.user_wait_seconds(self.keys, now)
        self.begins: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_wanted(self) -> bool:
        """True if the client is still waiting for the result of this login."""
        return not self.begins.done() and self.login.is_wanted()

    def free_at(self) -> float:
        """Return the earliest time at which the check of this login may start."""
        return max(self.not_before, self.guesses.free_at(self.keys))


class Queue:
    """Queued logins from one address, grouped by user."""

    def __init__(self) -> None:
        self.by_user: OrderedDict[bytes, deque[Ticket]] = OrderedDict()
        self.count = 0

    def add(self, ticket: Ticket) -> None:
        """Append a login to the queue of its user."""
        self.by_user.setdefault(ticket.keys.user, deque()).append(ticket)
        self.count += 1

    def take(self, ticket: Ticket) -> None:
        """Remove a login from the queue.

        If its user has more queued logins, the user moves to the end of the processing order.
        """
        waiting = self.by_user[ticket.keys.user]
        waiting.remove(ticket)
        self.count -= 1
        if waiting:
            self.by_user.move_to_end(ticket.keys.user)
        else:
            del self.by_user[ticket.keys.user]

    def heads(self) -> list[Ticket]:
        """Return the next login of each user, in the order in which the users are processed."""
        return [waiting[0] for waiting in self.by_user.values()]

    def newest_of_the_largest(self) -> Ticket:
        """Return the latest login of the user with the most queued logins."""
        return max(self.by_user.values(), key=len)[-1]


class Turns:
    """Queue of logins. It limits the number of logins that are processed concurrently."""

    def __init__(self, guesses: Guesses, concurrent_max: int) -> None:
        self.delayed = 0
        """Number of logins since the broker's start that were delayed after wrong passwords."""
        self.waiting = 0
        self._guesses = guesses
        self._concurrent_max = concurrent_max
        self._queues: OrderedDict[str, Queue] = OrderedDict()
        self._running: dict[str, int] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self, login: Login) -> None:
        """Wait until a login may be processed. The caller must call `end` after processing it.

        Raises:
            Busy: too many logins are queued.
            Abandoned: the client is no longer waiting.
        """
        now = asyncio.get_running_loop().time()
        ticket = Ticket(login, self._guesses, now)
        self.delayed += ticket.free_at() > now
        self._queues.setdefault(ticket.origin, Queue()).add(ticket)
        self.waiting += 1
        if self.waiting > WAITING_MAX:
            self._make_room()
        self._continue()
        try:
            await ticket.begins
        except asyncio.CancelledError:
            if not ticket.begins.cancelled() and ticket.begins.exception() is None:
                self.end(login)  # the login was given its turn and does not use it
            raise
        finally:
            del ticket  # its exception refers to this frame, which is a reference cycle

    def end(self, login: Login) -> None:
        """Record that a login has been processed. The next login may then begin."""
        origin = login.origin
        self._running[origin] -= 1
        if not self._running[origin]:
            del self._running[origin]
        self._continue()

    def stop(self) -> None:
        """Stop processing queued logins. They stay in the queue until their callers cancel them."""
        self._concurrent_max = 0
        if self._timer is not None:
            self._timer.cancel()

    def _continue(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self.waiting and sum(self._running.values()) < self._concurrent_max:
            ticket, due = self._next(now)
            if ticket is None:
                if due < NEVER:
                    self._timer = loop.call_at(due, self._continue)
                return
            self._take(ticket)
            if ticket.is_wanted:
                self._running[ticket.origin] = self._running.get(ticket.origin, 0) + 1
                self._move_to_end(ticket.origin)
                ticket.begins.set_result(None)
            elif not ticket.begins.done():
                ticket.begins.set_exception(Abandoned)

    def _next(self, now: float) -> tuple[Ticket | None, float]:
        """Return the next login to process, and the time at which to search the queue again.

        The login is None if no queued login may be processed now. The time matters only in this
        case. It is infinite if no queued login is waiting for a delay to end.
        """
        found: Ticket | None = None
        due = NEVER
        for origin, queue in self._queues.items():
            for ticket in queue.heads():
                is_known = self._guesses.is_known(ticket.keys)
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
        """Return True if a login must wait until another login from its address is complete.

        Only addresses with recent failed logins are limited to one login at a time.
        """
        return self._running.get(origin, 0) > 0 and self._guesses.is_suspect(ticket.keys)

    def _take(self, ticket: Ticket) -> None:
        queue = self._queues[ticket.origin]
        queue.take(ticket)
        self.waiting -= 1
        if not queue.count:
            del self._queues[ticket.origin]

    def _move_to_end(self, origin: str) -> None:
        """Move an address to the end of the processing order."""
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
