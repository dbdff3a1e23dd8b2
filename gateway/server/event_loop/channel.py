"""What the event loop has of a client's network connection, whatever carries the bytes."""

from abc import ABC, abstractmethod

from gateway.core.sessions.connection import Connection


class Channel(ABC):
    """One connection: bytes out, whether it is read from, and what was read and not worked on."""

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
        """Return whether there is more of this client's to be handled than it had a turn for."""
        return self.connection.behind or bool(self.unread)

    @abstractmethod
    def write(self) -> None:
        """Write what the core has for this client, and close if the core closed the connection."""

    @abstractmethod
    def update_reading(self) -> None:
        """Read from the socket only while what comes in can be worked on."""

    @abstractmethod
    def abort(self) -> None:
        """End the connection without waiting for what is still to be written."""
