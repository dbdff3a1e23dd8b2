"""A client's network connection as the event loop sees it, independent of its transport."""

from abc import ABC, abstractmethod

from gateway.core.sessions.connection import Connection


class Channel(ABC):
    """A connection: its output, whether it is read, and input that was read but not processed."""

    connection: Connection

    def __init__(self) -> None:
        self.overloaded = False
        """Not read from while more is uncommitted than `max_uncommitted` allows."""
        self.throttled = False
        """Not read from because its client sent more than its rate allows."""
        self.is_heavy = False
        """The last read brought more than a slice of work: see `Reading.puts_off`."""
        self.unread = b""
        """Read from the socket, and too much for the turn that it had."""
        self.unread_from = 0
        """Where in `unread` the next slice begins."""
        self.unread_counted = 0
        """Bytes of `unread` within the sum over all connections."""
        self.lost = False
        """The connection is gone, and what came before is not handled yet."""

    def is_behind(self) -> bool:
        """Return True if there is input that was not processed in this client's turn."""
        return self.connection.behind or bool(self.unread)

    @abstractmethod
    def write(self) -> None:
        """Send what the core has for this client. Close if the core closed the connection."""

    @abstractmethod
    def update_reading(self) -> None:
        """Read from the socket only while its input can be processed."""

    @abstractmethod
    def abort(self) -> None:
        """End the connection immediately, without sending remaining data."""
