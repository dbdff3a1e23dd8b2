"""The network: connections that delay, split, join, break, and lose bytes in transit.

A link has two directions. Bytes in one direction arrive in order, but in other pieces, late, or not
at all. Links are independent, so one can overtake another. The broker's end is a transport as in
asyncio (`server_transport`). The client's end is the link itself.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.instruments.simulation.server_transport import ServerTransport
from tests.instruments.simulation.virtual_loop import Timeline

if TYPE_CHECKING:
    from tests.instruments.simulation.connecting import Connecting


@dataclass(frozen=True)
class Weather:
    """The behaviour of the network, in seconds and probabilities."""

    delay_seconds: float = 0.01
    """The usual delay, which varies by a factor of four."""
    spike: float = 0.0
    """The probability that a piece takes a hundred times as long."""
    split: float = 0.0
    """The probability that a piece is split."""


CALM = Weather(0.001)


class Pipe:
    """One direction of a link."""

    def __init__(self, link: "Link", deliver: Callable[[bytes], None]) -> None:
        self.link = link
        self.deliver = deliver
        self.pieces: deque[tuple[float, bytes]] = deque()
        self.pending_bytes = 0
        self.open = True
        self.reading = True
        self.ended: Callable[[], None] | None = None
        """Called once everything has arrived, because the sender has closed."""
        self._last_arrival = 0.0

    def send(self, data: bytes) -> None:
        """Put bytes in transit."""
        if not self.open:
            return
        chance, weather = self.link.chance, self.link.weather
        while data:
            size = len(data)
            if weather.split and size > 1 and chance.random() < weather.split:
                size = chance.randint(1, size - 1)
            self._send_piece(data[:size])
            data = data[size:]

    def _send_piece(self, data: bytes) -> None:
        link = self.link
        arrival = max(self._last_arrival, link.timeline.now + link.delay())
        self._last_arrival = arrival
        self.pieces.append((arrival, data))
        self.pending_bytes += len(data)
        link.timeline.at(arrival, self.arrive)

    def arrive(self) -> None:
        """Deliver the bytes that have arrived, as one piece."""
        pieces, now = self.pieces, self.link.timeline.now
        if not self.reading or not self.open:
            return
        here: list[bytes] = []
        while pieces and pieces[0][0] <= now:
            here.append(pieces.popleft()[1])
        if here:
            data = b"".join(here)
            self.pending_bytes -= len(data)
            self.deliver(data)
        if not pieces and self.open and self.reading and self.ended is not None:
            ended, self.ended = self.ended, None
            ended()

    def end(self, ended: Callable[[], None]) -> None:
        """Send nothing more, and call `ended` after the bytes in transit."""
        self.ended = ended
        self.link.timeline.at(
            max(self._last_arrival, self.link.timeline.now + self.link.delay()), self.arrive
        )

    def break_off(self, keep_bytes: int = 0) -> None:
        """Lose all bytes in transit except for the first ones, and all later ones."""
        kept = 0
        for index, (_, data) in enumerate(self.pieces):
            if kept + len(data) > keep_bytes:
                while len(self.pieces) > index:
                    self.pending_bytes -= len(self.pieces.pop()[1])
                break
            kept += len(data)
        if not self.pieces:
            self.open = False
        self.ended = self._close

    def _close(self) -> None:
        self.open = False


class Link:
    """One connection between a client and the broker."""

    def __init__(
        self,
        timeline: Timeline,
        name: str,
        *,
        number: int,
        seed: str,
        weather: Weather,
        peer: "Connecting",
    ) -> None:
        self.timeline = timeline
        self.name = name
        self.number = number
        self.chance = random.Random(f"{seed}/{name}")  # noqa: S311 - the same every time
        self.weather = weather
        self.peer = peer
        self.to_broker = Pipe(self, self._to_broker)
        self.to_client = Pipe(self, self._to_client)
        self.transport = ServerTransport(self)
        self.client_gone = False
        self.is_cut = False
        self.broker_gone_at: float | None = None
        """The time at which the broker's end was closed, for whatever reason."""
        self.opened_at = timeline.now
        self.sent_bytes = 0
        self.delivered_bytes = 0
        """The number of the client's bytes that the broker has received."""
        self.protocol: asyncio.Protocol | None = None
        self.is_heard: Callable[[], bool] = lambda: True
        """Returns True while the broker accepts bytes, until it ends the connection."""

    def delay(self) -> float:
        """Return the delay of the next piece."""
        seconds = self.weather.delay_seconds * (0.5 + 1.5 * self.chance.random())
        if self.weather.spike and self.chance.random() < self.weather.spike:
            seconds *= 100
        return seconds

    def is_whole(self) -> bool:
        """Return True if both ends exist and can reach each other."""
        return not (self.client_gone or self.is_cut or self.broker_gone_at is not None)

    # -- the client's end

    def send(self, data: bytes) -> None:
        """Send bytes from the client."""
        if not self.client_gone:
            self.sent_bytes += len(data)
            self.to_broker.send(data)

    def close(self) -> None:
        """Close the client's end. Bytes that it has sent still arrive."""
        if not self.client_gone:
            self.client_gone = True
            self.to_client.break_off()
            self.to_broker.end(self._broker_sees_end)

    def reset(self) -> None:
        """Reset the client's end. Its sent bytes are lost as well, and the broker notices later."""
        if not self.client_gone:
            self.client_gone = True
            self.to_client.break_off()
            self.to_broker.break_off()
            self.timeline.after(self.delay(), self._broker_sees_end)

    def pause(self, seconds: float) -> None:
        """Stop the client's reading for a while."""
        self.to_client.reading = False
        self.timeline.after(seconds, self._read_again)

    def _read_again(self) -> None:
        self.to_client.reading = True
        self.to_client.arrive()
        self.transport.look_at_buffer()

    # -- events

    def cut(self, *, broker_notices: float | None, client_notices: float | None) -> None:
        """Cut the link. Each end notices after some seconds, or never if None."""
        self.is_cut = True
        self.to_broker.break_off()
        self.to_client.break_off()
        if broker_notices is not None:
            self.timeline.after(broker_notices, self._broker_sees_end)
        if client_notices is not None:
            self.timeline.after(client_notices, self.client_sees_end)

    def broker_dies(self, notices_after: float, *, loses_buffers: bool) -> None:
        """End the broker's side with its machine or process.

        Bytes that had left it may still arrive.
        """
        self.note_broker_gone()
        self.protocol = None
        self.to_broker.break_off()
        if loses_buffers:
            self.to_client.break_off(self.chance.randint(0, self.to_client.pending_bytes))
        self.timeline.after(notices_after, self.client_sees_end)

    def note_broker_gone(self) -> None:
        """Note that the broker's end is closed, for whatever reason."""
        if self.broker_gone_at is None:
            self.broker_gone_at = self.timeline.now

    def client_sees_end(self) -> None:
        """End the client's side, because the client notices that its peer no longer exists."""
        self._end_client(orderly=False)

    def client_sees_close(self) -> None:
        """Deliver the broker's close to the client, after all its bytes."""
        self._end_client(orderly=True)

    def _end_client(self, *, orderly: bool) -> None:
        if not self.client_gone:
            self.client_gone = True
            self.to_client.open = False
            self.to_broker.break_off()
            self.peer.lose(self, orderly=orderly)

    def _broker_sees_end(self) -> None:
        self.transport.end()

    def _to_broker(self, data: bytes) -> None:
        if self.protocol is not None and not self.transport.is_closing():
            if self.is_heard():
                self.delivered_bytes += len(data)
            self.protocol.data_received(data)

    def _to_client(self, data: bytes) -> None:
        if not self.client_gone:
            self.peer.receive(self, data)
        self.transport.look_at_buffer()
