"""A client that sends and receives single packets, encoded and decoded by `gateway.broker.wire`.

It is for tests of what the broker does with packets of 3.1.1 and 5.0. The vectors of
`tests/broker/wire` prove how packets are encoded.
"""

import asyncio

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Auth, Connack, Connect, Disconnect, Packet, Properties, Will
from tests.broker.access.scram_client import ScramClient
from tests.peers.connection import DEADLINE_SECONDS, Connection

METHOD = "SCRAM-SHA-256"
PACKET_BYTES_MAX = 1 << 20


def properties_of(method: str | None, data: bytes | None) -> Properties | None:
    """Return the two properties of enhanced authentication, or None if there is no method."""
    if method is None:
        return None
    properties = Properties()
    properties.authentication_method = method
    properties.authentication_data = data
    return properties


def data_of(packet: Packet) -> bytes:
    """Return the authentication data of a packet, and check its authentication method."""
    assert isinstance(packet, Auth | Connack), packet
    assert packet.properties is not None
    assert packet.properties.authentication_method == METHOD
    assert packet.properties.authentication_data is not None
    return packet.properties.authentication_data


class PacketClient(Connection):
    """One connection of a client of one version (5: MQTT 5.0, 4: 3.1.1). Every wait has a deadline.

    The client answers no packet by itself.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, version: int = 5
    ) -> None:
        super().__init__(reader, writer)
        self.version = version
        self._decoder = Decoder(PACKET_BYTES_MAX, version, "client")
        self._received: list[Packet] = []

    def send(self, *packets: Packet) -> None:
        """Send packets together, in one segment."""
        self._writer.write(b"".join(encode(packet, self.version) for packet in packets))

    def send_bytes(self, data: bytes) -> None:
        """Send bytes that are not a packet, such as the header of a proxy."""
        self._writer.write(data)

    async def receive(self) -> Packet | None:
        """Return the next packet, or None when the broker has closed."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not self._received:
                try:
                    data = await self._reader.read(65_536)
                except ConnectionError:
                    # The broker closed while this client was still writing.
                    return None
                if not data:
                    return None
                self._received = self._decoder.feed(data)
                assert self._decoder.error is None, self._decoder.error
        return self._received.pop(0)

    async def ending(self) -> int | None:
        """Return the reason code with which the broker refused or disconnected the client and
        closed.

        Return None if the broker closed without a packet.
        """
        packet = await self.receive()
        if packet is None:
            return None
        assert isinstance(packet, Connack | Disconnect), packet
        assert await self.receive() is None
        return packet.reason_code

    # -- enhanced authentication

    def connect(
        self,
        data: bytes | None,
        *,
        method: str | None = METHOD,
        client_id: str = "c",
        will: Will | None = None,
        username: str | None = None,
        password: bytes | None = None,
    ) -> None:
        """Send CONNECT with authentication data."""
        properties = properties_of(method, data)
        self.send(Connect(5, client_id, True, 0, will, username, password, properties))

    def auth(self, code: int, data: bytes | None, *, method: str = METHOD) -> None:
        """Send AUTH."""
        self.send(Auth(code, properties_of(method, data)))

    async def challenge(self) -> bytes:
        """Return the data of the AUTH with which the broker expects another step."""
        packet = await self.receive()
        assert isinstance(packet, Auth), packet
        assert packet.reason_code == 0x18
        return data_of(packet)

    async def log_in(self, scram: ScramClient, *, client_id: str = "c") -> None:
        """Send CONNECT and take every step of SCRAM.

        The broker must prove that it knows the user.
        """
        self.connect(scram.first(), client_id=client_id)
        self.auth(0x18, scram.final(await self.challenge()))
        connack = await self.receive()
        assert isinstance(connack, Connack), connack
        assert connack.reason_code == 0
        assert scram.trusts(data_of(connack))
