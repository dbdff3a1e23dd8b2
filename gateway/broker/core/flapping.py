"""Flapping clients: those that connect and disconnect too often, by client identifier.

Each of their connections costs a commit, and each will a message to its subscribers. Detection is
off by default, because a device that connects for each message is legitimate.
"""

# Not Final: tests make it small enough to be reached.
CLIENTS_MAX: int = 10_000
"""Clients whose disconnections are counted, at most: some 2 MB. Beyond that the oldest window is
dropped."""

FOUND_MAX: int = 1_000
"""Flapping clients stored until the event loop takes them, once a second; others are found again
later."""


class Window:
    """Number of a client's disconnections since `began_at`."""

    def __init__(self, began_at: float) -> None:
        self.began_at = began_at
        self.count = 0


class Flapping:
    """Counts disconnections."""

    def __init__(self) -> None:
        self.enabled = False
        self.count_max = 15
        """Disconnections allowed in a window; with one more the client is flapping."""
        self.window_seconds = 60.0
        self._windows: dict[str, Window] = {}
        """Windows by client, oldest first."""
        self._found: dict[str, str] = {}

    def left(self, client_id: str, address: str, now: float) -> None:
        """Count a disconnection of an accepted client."""
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
        """Return the flapping clients found since the last call, each with its last address."""
        found, self._found = self._found, {}
        return found

    def forget(self) -> None:
        """Discard all counts, because the limits have changed."""
        self._windows = {}
        self._found = {}
