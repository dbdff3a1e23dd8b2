"""The byte client on a stream and in WebSocket frames.

The frames are built here from RFC 6455, without the library that the broker uses.
"""

import asyncio
import struct
from dataclasses import dataclass

from tests.peers.byte_client import ByteClient
from tests.peers.connection import DEADLINE_SECONDS
from tests.peers.mqtt_bytes import connect

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
MASK = b"\x11\x22\x33\x44"
HANDSHAKE = {
    "Host": "127.0.0.1",
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Protocol": "mqtt",
}


@dataclass(frozen=True)
class Response:
    """An HTTP response: the head as one string in lower case, and the body."""

    status: int
    head: str
    body: str


class WebSocketClient(ByteClient):
    """One connection, which speaks WebSocket only after `shake_hands`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super().__init__(reader, writer)
        self._in_frames = b""

    async def shake_hands(self, *, path: str = "/mqtt", **headers: str | None) -> Response:
        """Request WebSocket and return the response. A header whose value is None is left out."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"GET {path} HTTP/1.1"]
        lines += [f"{k}: {v}" for k, v in (HANDSHAKE | named).items() if v is not None]
        self.send("\r\n".join([*lines, "", ""]).encode())
        return await self.response()

    async def response(self) -> Response:
        """Return the next HTTP response."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = 0
        if "content-length: " in head:
            length = int(head.partition("content-length: ")[2].split("\r\n")[0])
        return Response(int(head.split()[1]), head, (await self.read(length)).decode())

    async def frame(self) -> tuple[int, bytes]:
        """Return the opcode and the payload of the next frame, which must be final and unmasked."""
        first, length = await self.read(2)
        assert first & 0xF0 == 0x80, "a whole frame without extensions"
        if length == 126:
            (length,) = struct.unpack(">H", await self.read(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", await self.read(8))
        return first & 0x0F, await self.read(length)

    async def packet_in_frames(self) -> bytes:
        """Return the next MQTT packet from binary frames.

        The packet must be shorter than 128 bytes.
        """
        while len(self._in_frames) < 2 or len(self._in_frames) < 2 + self._in_frames[1]:
            opcode, payload = await self.frame()
            assert opcode == BINARY, (opcode, payload)
            self._in_frames += payload
        end = 2 + self._in_frames[1]
        packet, self._in_frames = self._in_frames[:end], self._in_frames[end:]
        return packet

    async def connect_in_frames(self, client_id: str) -> int:
        """Do the handshake and send CONNECT. Return the return code of CONNACK."""
        assert (await self.shake_hands()).status == 101
        self.send(frame_of(BINARY, connect(client_id)))
        return (await self.packet_in_frames())[3]


def frame_of(
    opcode: int,
    payload: bytes = b"",
    *,
    final: bool = True,
    masked: bool = True,
    announced: int | None = None,
) -> bytes:
    """Return a client's frame. `announced` is a length to write instead of the payload's length."""
    length = len(payload) if announced is None else announced
    first = opcode | (0x80 if final else 0)
    mask_bit = 0x80 if masked else 0
    if length < 126:
        head = bytes([first, mask_bit | length])
    elif length < 1 << 16:
        head = bytes([first, mask_bit | 126]) + struct.pack(">H", length)
    else:
        head = bytes([first, mask_bit | 127]) + struct.pack(">Q", length)
    if not masked:
        return head + payload
    covered = bytes(byte ^ MASK[index % 4] for index, byte in enumerate(payload))
    return head + MASK + covered


def close_code_of(payload: bytes) -> int:
    """Return the status code of a close frame."""
    return int.from_bytes(payload[:2], "big")
