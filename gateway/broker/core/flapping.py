"""Detection of flapping clients, which connect and disconnect too often.

Clients are distinguished by client identifier. Each connection of a flapping client costs a commit,
and each of its wills is sent to all subscribers. Detection is off by default, because a legitimate
device may connect for each message.
"""

# Not Final, so that tests can use a smaller value.
CLIENTS_MAX: int = 10_000
"""Maximum clients whose disconnections are counted: about 2 MB. Beyond this, the oldest count is
discarded."""

FOUND_MAX: int = 1_000
"""Maximum flapping clients stored until the server takes them, once a second. Further ones are
detected again later."""


class Window:
    """A period in which the disconnections of a client are counted.

    `began_at` is the start of the period, as monotonic time in seconds.
    """

    def __init__(self, began_at: float) -> None:
        self.began_at = began_at
        self.count = 0


class Flapping:
    """Detector of clients that connect and disconnect too often. It counts their disconnections."""

    def __init__(self) -> None:
        self.enabled = False
        self.count_max = 15
        """Disconnections allowed in a window. With one more, the client is flapping."""
        self.window_seconds = 60.0
        self._windows: dict[str, Window] = {}
        """Windows by client identifier, oldest first."""
        self._found: dict[str, str] = {}

    def disconnected(self, client_id: str, address: str, now: float) -> None:
        """Count a disconnection of a client whose CONNECT was accepted."""
        window = self._windows.get(client_id)
        if window is None or now - window.began_at > self.window_seconds:
            self._windows.pop(client_id, None)
            if len(self._windows) >= CLIENTS_MAX:
                del self._windows[next(iter(self._windows))]
            window = Window(now)
            self._windows[client_id] = window
        window.count += 1
        if window.count > self.count_max and len(self._found) < FOUND_MAX:
            del self._windows[client_id]
            self._found[client_id] = address

    def take(self) -> dict[str, str]:
        """Return the identifiers and latest addresses of clients newly found to be flapping."""
        found, self._found = self._found, {}
        return found

    def forget(self) -> None:
        """Discard all counts, because the limits have changed."""
        self._windows = {}
        self._found = {}
