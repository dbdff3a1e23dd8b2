"""Detection of devices that share a client identifier and keep disconnecting each other.

In a takeover, a new connection displaces an older connection with the same client identifier. A
single takeover is normal: a client that lost its network reconnects while its old connection is
still open. Devices that share an identifier reconnect again and again. They are detected if a
displaced address returns and displaces the other address, or if takeovers follow each other within
seconds.
"""

from typing import Final

from gateway.broker.core.recent import RecentCount, StepClock

REASON: Final = "client_id_shared"
"""Name of the counter of takeovers between devices with one identifier, in the status."""

WINDOW_SECONDS: Final = 300.0
"""Seconds within which returns of a displaced address are counted together: devices wait up to some
minutes before they reconnect."""

RETURNS_MIN: Final = 2
"""Minimum returns of a displaced address that indicate a shared identifier. A device that changes
from Wi-Fi to a mobile network and back returns only once."""

QUICK_SECONDS: Final = 10.0
"""Maximum seconds between takeovers from one address that count as quick. Noticing a lost
connection takes longer."""

QUICK_MIN: Final = 4
"""Minimum consecutive quick takeovers that indicate several devices at one address, for example in
containers on one machine."""

CLIENTS_MAX: int = 1_000
"""Maximum client identifiers that are observed: about 400 kB. Further takeovers are ignored."""

HOSTS_MAX: Final = 8
"""Maximum addresses stored for one client identifier."""

SECONDS_BETWEEN_LINES: Final = 60.0
"""Minimum seconds between two log lines for a client identifier."""


class Shared:
    """Recent takeovers of one client identifier, used to detect devices that share it."""

    def __init__(self, client_id: str, now: float) -> None:
        self.client_id = client_id
        self.began_at = now
        self.last_at = now
        self.returns = 0
        self.quick = 0
        self.pending = 0
        """Takeovers in the window that count only if devices turn out to share the identifier."""
        self.hosts: dict[str, None] = {}
        """Hosts of displaced connections."""
        self.is_found = False
        """True if at least two devices share the identifier."""
        self.addresses = ("", "")
        """Addresses of the connection displaced last, and of the connection that displaced it."""
        self.count = RecentCount()
        """Takeovers in the last hour, from the first takeover of the window on."""
        self.unlogged = 0
        self.next_line_at = 0.0

    def note(self, displaced: str, newcomer: str, now: float) -> int:
        """Record a takeover, with the addresses of the displaced and the new connection.

        Return the number of takeovers to add to the statistics. It is 0 as long as a single device
        may have caused the takeovers. When it becomes clear that several devices share the
        identifier, the number includes the earlier takeovers that were not counted.
        """
        if not self.is_found and now - self.began_at > WINDOW_SECONDS:
            self.began_at, self.returns, self.pending, self.hosts = now, 0, 0, {}
        is_quick = now - self.last_at <= QUICK_SECONDS
        self.quick = self.quick + 1 if is_quick else 0
        self.last_at = now
        self.addresses = (displaced, newcomer)
        if host_of(displaced) != host_of(newcomer):
            self.returns += host_of(newcomer) in self.hosts
            if len(self.hosts) < HOSTS_MAX:
                self.hosts[host_of(displaced)] = None
        self.pending += 1
        self.is_found |= self.returns >= RETURNS_MIN or self.quick >= QUICK_MIN
        if not self.is_found:
            return 0
        found, self.pending = self.pending, 0
        self.count.running += found
        self.unlogged += found
        return found

    def sentence(self) -> str:
        """Return a sentence for the log that states the problem and how to fix it."""
        displaced, newcomer = self.addresses
        times = "once" if self.unlogged == 1 else f"{self.unlogged} times"
        return (
            f"client {self.client_id!r}: two devices with this client id, at {displaced} and "
            f"{newcomer}, disconnected each other {times}; give each device a client id of its own"
        )


class Takeovers:
    """Recent takeovers, keyed by client identifier."""

    def __init__(self) -> None:
        self._clients: dict[str, Shared] = {}
        self._clock = StepClock()

    def note(self, client_id: str, displaced: str, newcomer: str, now: float) -> int:
        """Record a takeover, with the addresses of the displaced and the new connection.

        Return the number of takeovers to add to the statistics. It is 0 as long as a single device
        may have caused the takeovers.
        """
        shared = self._clients.get(client_id)
        if shared is None:
            if len(self._clients) >= CLIENTS_MAX:
                return 0
            shared = Shared(client_id, now)
            self._clients[client_id] = shared
        return shared.note(displaced, newcomer, now)

    def take(self, now: float, count_max: int) -> list[tuple[str, str]]:
        """Return at most `count_max` log lines that are due, each with its client identifier.

        Entries of clients that need no further observation are removed.
        """
        self._advance(now)
        lines: list[tuple[str, str]] = []
        for client_id, shared in list(self._clients.items()):
            if shared.unlogged and now >= shared.next_line_at and len(lines) < count_max:
                lines.append((shared.sentence(), client_id))
                shared.unlogged = 0
                shared.next_line_at = now + SECONDS_BETWEEN_LINES
            elif not shared.is_found and now - shared.last_at > WINDOW_SECONDS:
                del self._clients[client_id]
        return lines

    def _advance(self, now: float) -> None:
        steps = self._clock.steps_ended(now)
        if not steps:
            return
        for client_id, shared in list(self._clients.items()):
            shared.count.advance(steps)
            if shared.is_found and not shared.count.value() and not shared.unlogged:
                del self._clients[client_id]

    def largest(self, count_max: int) -> list[Shared]:
        """Return up to `count_max` shared client identifiers with the most takeovers."""
        found = [each for each in self._clients.values() if each.is_found]
        found.sort(key=lambda each: -each.count.value())
        return found[:count_max]


def host_of(address: str) -> str:
    """Return the host of `HOST:PORT`. Any other string is returned unchanged."""
    host, _, port = address.rpartition(":")
    return host if host and port.isdecimal() else address
