"""MQTT over WebSocket (MQTT 3.1.1 and 5.0 section 6): packets in binary frames.

Frame boundaries are independent of packets: the contents of all frames form one stream of bytes
[MQTT-6.0.0-2]. Parts of a frame are passed on as they arrive, so no frame is buffered. All data
from one read of the socket reaches the broker core in one call. wsproto decodes the frames.
"""

import asyncio
from typing import Final

from wsproto.connection import Connection as Frames
from wsproto.connection import ConnectionState as WebSocketState
from wsproto.connection import ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, Pong
from wsproto.extensions import Extension
from wsproto.frame_protocol import CloseReason, FrameDecoder, FrameProtocol, Opcode, RsvBits

from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.broker.server.listeners.handshake import Handshake
from gateway.broker.server.listeners.policy import AdmissionPolicy
from gateway.broker.server.listeners.stream import MqttProtocol

FRAME_BYTES_MAX: Final = 1024 * 1024
"""Maximum length of a frame in bytes, unless `max_packet_size` is larger. Frames are not buffered,
but a frame that is longer than any packet or group of packets is an error."""

FRAME_HEADER_BYTES: Final = 6
"""Length of a short frame's header from a client, including its mask."""

FRAMES_PER_TICK_MAX: Final = 300
"""Maximum number of frames of one client processed before others are served, which takes some 3 ms.
A read can contain 40,000 empty frames."""


class FrameLimit(Extension):
    """A limit on the payload length that a frame's header may announce.

    The limit is implemented as a wsproto extension. The extension is not negotiated with clients,
    because it does not change the protocol.
    """

    name = "frame-limit"

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max

    def enabled(self) -> bool:
        """Return True, because the limit always applies."""
        return True

    def offer(self) -> bool:
        """Return False, because the extension is not offered to clients."""
        return False

    def frame_inbound_header(
        self,
        proto: FrameDecoder | FrameProtocol,
        opcode: Opcode,
        rsv: RsvBits,
        payload_length: int,
    ) -> CloseReason | RsvBits:
        """Check the payload length in the header of a received frame."""
        if payload_length > self.bytes_max:
            return CloseReason.MESSAGE_TOO_BIG
        return RsvBits(False, False, False)


class WebSocketProtocol(MqttProtocol):
    """A client's connection: first an HTTP request, then WebSocket frames."""

    def __init__(self, event_loop: EventLoop, policy: AdmissionPolicy) -> None:
        super().__init__(event_loop, policy)
        self._handshake = Handshake(policy.origins, policy.paths)
        self._frames: Frames | None = None
        self._close_code: int = CloseReason.NORMAL_CLOSURE
        self._has_answered = False
        self._has_more_frames = False
        """True if frames of the last read are not processed yet."""

    # -- in

    def data_received(self, data: bytes) -> None:
        """Process received bytes of the opening handshake, or of WebSocket frames."""
        if self._frames is None:
            self._shake_hands(data)
        elif self._frames.state in (WebSocketState.OPEN, WebSocketState.LOCAL_CLOSING):
            self._frames.receive_data(data)
            self._take_frames(self._frames)

    def _shake_hands(self, data: bytes) -> None:
        answer = self._handshake.receive(data)
        if answer is None or self.transport.is_closing():
            return
        self.transport.write(answer.response)
        self._has_answered = True
        if answer.refusal is not None:
            self.close_for(answer.refusal, answer.detail)
            self.update_reading()
            return
        longest = max(FRAME_BYTES_MAX, self._event_loop.limits.max_packet_size_bytes)
        self._frames = Frames(ConnectionType.SERVER, [FrameLimit(longest)], answer.rest)
        self._take_frames(self._frames)

    def _take_frames(self, frames: Frames) -> None:
        payload: list[bytes | bytearray] = []
        ping: Ping | None = None
        end: Event | None = None
        count = idle_bytes = 0
        for event in frames.events():
            if isinstance(event, BytesMessage):
                payload.append(event.data)
            elif isinstance(event, Ping | Pong):
                idle_bytes += len(event.payload)
                ping = event if isinstance(event, Ping) else ping
            elif not isinstance(event, Pong):
                end = event
                break
            count += 1
            if count == FRAMES_PER_TICK_MAX:
                break
        idle_count = count - sum(map(bool, payload))
        if idle_count and self.connection.meters:
            self._count_idle(idle_count, idle_bytes)
        if payload and self.connection.is_open:
            self._event_loop.receive(self, b"".join(payload))
        if ping is not None and frames.state is WebSocketState.OPEN:
            # RFC 6455 section 5.5.3: of several pings only the last one needs an answer.
            self.transport.write(frames.send(ping.response()))
        if end is not None:
            self._end(frames, end)
        self._has_more_frames = count == FRAMES_PER_TICK_MAX
        if self._has_more_frames:
            asyncio.get_running_loop().call_soon(self._continue, frames)
        self.update_reading()

    def _count_idle(self, frames_count: int, payload_bytes: int) -> None:
        """Count pings and empty frames as packets, because they cause as much work as packets."""
        now = asyncio.get_running_loop().time()
        for meter in self.connection.meters:
            meter.spend(frames_count, frames_count * FRAME_HEADER_BYTES + payload_bytes, now)
        self._event_loop.reading.limit_rates(self, None)

    def _continue(self, frames: Frames) -> None:
        if not self.transport.is_closing():
            self._take_frames(frames)

    def _end(self, frames: Frames, event: Event) -> None:
        if not isinstance(event, CloseConnection):
            # [MQTT-6.0.0-1] anything but a binary frame ends the connection
            self._close_code = CloseReason.UNSUPPORTED_DATA
            self.close_for("websocket_text", "a text frame, expected binary frames")
        elif frames.state is WebSocketState.REMOTE_CLOSING:
            self.transport.write(frames.send(event.response()))
            self.transport.close()
            self.cut_later()
        elif frames.state is WebSocketState.OPEN:
            # The frames were malformed, so there is no need to wait for the peer's close frame.
            self._close_code = event.code
            self.close_for("websocket_frame", f"close code {int(event.code)}: {event.reason}")
            self.write()
            self.end()
        else:
            self.transport.close()

    # -- out

    def _was_answered(self) -> bool:
        return self._has_answered

    def write(self) -> None:
        """Write the core's outgoing data to the socket in one frame.

        Close the network connection if the core has closed the MQTT connection.
        """
        connection, frames = self.connection, self._frames
        if frames is None:
            super().write()  # before the handshake there is nothing to send, only to close
            return
        if not connection.outgoing.is_empty():
            data = self.take_outgoing()
            if frames.state is WebSocketState.OPEN and not self.lost:
                self.transport.write(frames.send(BytesMessage(data=data)))
        if connection.closing and frames.state is WebSocketState.OPEN:
            self.transport.write(frames.send(CloseConnection(code=self._close_code)))
            if connection.session is None:
                # The client was never accepted, so the connection is closed without waiting.
                self.end()
                return
            # Otherwise the socket is closed after the client's close frame. The client may have
            # sent more, and closing before reading would destroy data that it has not read yet.
            self.cut_later()
            self.update_reading()

    def _can_take_more(self) -> bool:
        if self._has_more_frames:
            return False
        if self._frames is not None and self._frames.state is WebSocketState.LOCAL_CLOSING:
            return True
        return super()._can_take_more()
