"""A client's network connection as the event loop sees it, independent of its transport."""

from abc import ABC, abstractmethod

from gateway.broker.core.sessions.connection import Connection


class Channel(ABC):
    """A connection: its output, whether it is read, and input that was read but not processed."""

    connection: Connection
    is_encrypted = False
    """True if its bytes travel over TLS."""

    def __init__(self) -> None:
        self.overloaded = False
        """True if it is not read because more is uncommitted than `max_uncommitted` allows."""
        self.throttled = False
        """True if it is not read because its client exceeded its rate."""
        self.is_heavy = False
        """True if the last read contained more than a slice of work: see `FairReader.puts_off`."""
        self.unread = b""
        """Received data that was too much for the client's turn."""
        self.unread_from = 0
        """Start of the next slice in `unread`."""
        self.unread_counted = 0
        """Bytes of `unread` included in the total of all connections."""
        self.lost = False
        """True if the connection is lost, but earlier data is not processed yet."""

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
