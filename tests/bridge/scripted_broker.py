"""A broker of raw packets whose every answer the test decides."""

import asyncio

from gateway.wire.decoder import Decoder
from gateway.wire.encoder import encode
from gateway.wire.packets import Connack, Connect, Packet, Pingreq
from tests.bridge.broker import DEADLINE_SECONDS

_MQTT_3_1_1 = 4


class ScriptedBroker:
    """`connects` holds each CONNECT; `session_present` and `return_code` go into the CONNACK."""

    def __init__(self) -> None:
        self.connects: asyncio.Queue[Connect] = asyncio.Queue()
        self.packets: asyncio.Queue[Packet] = asyncio.Queue()
        self.session_present = False
        self.return_code = 0
        self.port = 0
        self._writer: asyncio.StreamWriter | None = None
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    def send(self, packet: Packet) -> None:
        assert self._writer is not None
        self._writer.write(encode(packet, _MQTT_3_1_1))

    def cut(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()

    async def next_connect(self) -> Connect:
        return await asyncio.wait_for(self.connects.get(), DEADLINE_SECONDS)

    async def next_packet(self) -> Packet:
        return await asyncio.wait_for(self.packets.get(), DEADLINE_SECONDS)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        decoder = Decoder(1 << 20)
        try:
            while data := await reader.read(65536):
                for packet in decoder.feed(data):
                    if isinstance(packet, Connect):
                        # A clean session leaves nothing to be present. [MQTT-3.2.2-1]
                        present = self.session_present and not packet.clean_start
                        self.send(Connack(present, self.return_code))
                        self.connects.put_nowait(packet)
                    elif not isinstance(packet, Pingreq):
                        self.packets.put_nowait(packet)
        except ConnectionError:
            pass  # The test cut the connection.
        finally:
            writer.close()
