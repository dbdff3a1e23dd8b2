"""A client's network connection, independent of the transport."""

from abc import ABC, abstractmethod

from gateway.broker.core.sessions.connection import Connection


class Channel(ABC):
    """A client's network connection, with received data that has not been processed yet."""

    connection: Connection
    is_encrypted = False
    """True if the connection uses TLS."""

    def __init__(self) -> None:
        self.overloaded = False
        """True if reading is paused because more data is uncommitted than `max_uncommitted`
        allows."""
        self.throttled = False
        """True if reading is paused because the client exceeded its message rate or byte rate."""
        self.is_heavy = False
        """True if the last received data caused much work. See `FairReader.postpones`."""
        self.unread = b""
        """Received data that is kept for later, because the client has sent too much."""
        self.unread_from = 0
        """Index of the first byte in `unread` that is not processed yet."""
        self.unread_counted = 0
        """Number of bytes in `unread` that are included in the total of all connections."""
        self.lost = False
        """True if the connection is lost, but data received before is not processed yet."""

    def has_more_input(self) -> bool:
        """Return True if data received from the client has not been processed yet."""
        return self.connection.has_more_work or bool(self.unread)

    @abstractmethod
    def write(self) -> None:
        """Send the core's outgoing data for this client.

        Close the network connection if the core has closed the MQTT connection.
        """

    @abstractmethod
    def update_reading(self) -> None:
        """Pause reading from the socket, or resume it if more input can be processed now."""

    @abstractmethod
    def abort(self) -> None:
        """Close the connection immediately, without sending remaining data."""
