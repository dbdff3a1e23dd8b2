"""A network connection in the core, with state that lasts only while the client is connected.

This state includes the bytes that are waiting to be sent.
"""

from enum import Enum

from gateway.broker.core.limits import Limits
from gateway.broker.core.sessions.meter import Meter
from gateway.broker.core.sessions.packet_buffer import PacketBuffer
from gateway.broker.core.sessions.session import NO_GROUPS, Session
from gateway.broker.core.sessions.share import Share
from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.packets import Connect, Packet, Publish


class ConnectionState(Enum):
    """The stages of a connection, from waiting for CONNECT to closed."""

    AWAITING_CONNECT = 0
    AUTHENTICATING = 1
    """The user name and password, or the AUTH packet, are being checked."""
    AWAITING_AUTH = 2
    CONNECTED = 3
    CLOSED = 4


class DeferredPackets:
    """Deferred PUBLISH packets of a connection, kept until there is room for their messages."""

    def __init__(self) -> None:
        self.packets: list[Publish] = []
        self.bytes_count = 0
        self.is_full = False
        """True if there are too many deferred messages, so the connection is not read."""
        self.awaited_session: Session | None = None
        """The session whose queue must have room first, or None to wait for the disk."""


class Connection:
    """A network connection in the core, with an input decoder and two output buffers."""

    proven_user: str | None = None
    """The user that a certificate authenticated before the CONNECT."""
    certificate: str | None = None
    """Certificate that authenticated the client, named as in `revoke.revoke_certificates`."""
    part_seen = (0.0, 0)
    """Values at the last keep-alive check: the time of the last complete packet, and the number of
    bytes of the incomplete packet after it."""
    has_disconnected = False
    """True if the client has sent DISCONNECT and will send nothing more."""
    is_local = False
    """True if the client is on this machine, as the bridge is."""
    meters: tuple[Meter, ...] = ()
    """Meters of the client's rate limits, alone and shared with others. Empty means unlimited."""
    address_share: Share | None = None
    """Limits shared by all clients at this address, or None if there are no such limits."""

    groups: frozenset[str] = NO_GROUPS
    """Groups for the access rules, from the client's login."""

    def __init__(  # noqa: PLR0915 - an attribute each
        self,
        address: str,
        decoder: Decoder,
        anonymous: bool,
        now: float,
        share: Share | None = None,
        listener: str = "",
    ) -> None:
        self.address = address
        self.decoder = decoder
        self.anonymous = anonymous
        """True if the listener accepts clients without a user."""
        self.share = share
        """Limits of the listener, or None if only the broker's limits apply."""
        self.listener = listener
        """The name of the listener, for access rules."""
        self.state = ConnectionState.AWAITING_CONNECT
        self.session: Session | None = None
        self.version = 0
        self.keep_alive_seconds = 0
        # Limits set by a 5.0 client; these values mean "unlimited".
        self.receive_maximum = 65_535
        self.receive_maximum_granted = 65_535
        self.receiving = 0
        """Number of QoS 1 and 2 messages received without their last acknowledgement."""
        self.received = 0
        """Number of such messages whose last acknowledgement waits for the current batch."""
        self.maximum_packet_size_bytes = 0
        self.topic_alias_maximum = 0
        self.wants_problem_information = True
        self.session_expiry_seconds = 0
        self.authentication_method: str | None = None
        self.username: str | None = None
        self.checking = False
        """True if the event loop is checking this client's credentials."""
        self.reauthenticating = False
        self.connect: Connect | None = None
        """The CONNECT that is being authenticated."""
        self.aliases_in: dict[int, tuple[str, bytes]] = {}
        self.aliases_out: dict[str, tuple[int, int]] = {}
        """The alias of each topic, and the batch after which its definition is sent."""
        self.connected_at = 0.0
        self.last_packet = now
        self.outgoing = PacketBuffer()
        self.forwarded_bytes = 0
        """QoS 0 bytes in `outgoing` and `after_connack`, which the client cannot slow down."""
        self.after_connack: list[bytes] = []
        """Packets that depend on no record but must wait until CONNACK is durable."""
        self.withheld = PacketBuffer()
        self.withheld_batch = -1
        """The newest batch for which bytes of this connection wait."""
        self.connack_released = False
        """True if CONNACK was released. No packet may be sent before it [MQTT-3.2.0-1]."""
        self.writable = True
        """False while the peer reads more slowly than the broker writes."""
        self.unwritable_since = 0.0
        self.slow_reader_scheduled = False
        self.reading = True
        """False while the connection is not read. Its keep-alive does not count then."""
        self.closing = False
        self.unprocessed: list[Packet] = []
        """Packets that wait to be processed, because the client's password is being checked or
        because there are too many for one slice of work."""
        self.has_more_work = False
        """True if work remains for later slices, after other connections have been served."""
        self.deferred = DeferredPackets()
        self.unslowed_until = 0.0
        """Until this time, the client's messages do not wait for queues that slow publishers,
        because the connection would wait for itself."""

    @property
    def is_open(self) -> bool:
        """True if the core has not closed the connection."""
        return self.state is not ConnectionState.CLOSED

    def set_address_share(self, address_share: Share, now: float) -> None:
        """Apply the limits in `address_share` to the connection.

        They are shared by all clients at the connection's address.
        """
        self.address_share = address_share
        self.meters += address_share.meters(now)

    def shares(self) -> tuple[Share, ...]:
        """Return the shared limits of the connection's listener and address, if there are any."""
        return tuple(share for share in (self.share, self.address_share) if share is not None)

    def accepts(self, packet: bytes) -> bool:
        """Return True if a packet is within the client's maximum packet size [MQTT5-3.1.2-24]."""
        return not 0 < self.maximum_packet_size_bytes < len(packet)

    def window_of(self, limits: Limits) -> int:
        """Return the maximum number of QoS 1 and 2 deliveries in flight [MQTT5-3.3.4-9].

        The number never exceeds the client's receive maximum.
        """
        return min(limits.window_of(), self.receive_maximum)

    def free_memory(self) -> None:
        """Free the memory of a closed connection. The event loop may still refer to the object."""
        self.decoder.free_memory()
        self.connect = None
        self.unprocessed = []
        self.deferred = DeferredPackets()
        self.has_more_work = False
        self.aliases_in = {}
        self.aliases_out = {}
        self.after_connack = []
        self.withheld.take()

    def take_outgoing(self) -> bytes:
        """Remove the packets that may be sent now, and return them as one byte string."""
        parts = self.outgoing.take()
        self.forwarded_bytes = 0
        return parts[0] if len(parts) == 1 else b"".join(parts)
