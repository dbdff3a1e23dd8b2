"""A client of the load generator on one end of a socket pair, with the test as the broker."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from gateway.tools.bench.connection import Client
from gateway.tools.bench.frames import BLOCK_MESSAGES, Frames
from gateway.tools.bench.latency import Samples, SendTimes
from gateway.tools.bench.loop import Loop
from gateway.tools.bench.publisher import FlowControl, Publisher
from gateway.tools.bench.subscriber import Source, Subscriber

TOPICS = ("t/0", "t/1")
PAYLOAD_BYTES = 24


def frames_of(publisher: int, *, qos: int, version: int, rows: int = 512) -> Frames:
    return Frames(
        topic=TOPICS[publisher],
        publisher=publisher,
        payload_bytes=PAYLOAD_BYTES,
        qos=qos,
        version=version,
        rows=rows,
    )


def subscriber_of(publishers: int, *, qos: int, version: int) -> Subscriber:
    sources = {
        number: Source(
            frames_of(number, qos=qos, version=version), SendTimes(step=1, in_transit_max=64)
        )
        for number in range(publishers)
    }
    return Subscriber("subscriber", version, sources=sources, qos=qos, samples=Samples())


def publisher_of(*, qos: int, version: int, window: int, rows: int = 512) -> Publisher:
    return Publisher(
        "publisher",
        version,
        frames=frames_of(0, qos=qos, version=version, rows=rows),
        flow_control=FlowControl(qos, window, BLOCK_MESSAGES),
        send_times=SendTimes(step=1, in_transit_max=2 * window),
        samples=Samples(),
    )


class Wired:
    """The broker's end of a client.

    `feed` sends bytes to the client, and `written` returns the client's bytes.
    """

    def __init__(self, loop: Loop, peer: socket.socket) -> None:
        self._loop = loop
        self._peer = peer

    def feed(self, *pieces: bytes) -> None:
        """Send the pieces. Each piece is what the client gets from one read."""
        for piece in pieces:
            if piece:
                self._peer.sendall(piece)
                self._loop.tick()

    def end(self) -> None:
        """Close the broker's side, so that the client reads an end of file."""
        self._peer.shutdown(socket.SHUT_WR)
        self._loop.tick()

    def written(self) -> bytes:
        parts = []
        while True:
            try:
                parts.append(self._peer.recv(1 << 20))
            except BlockingIOError:
                return b"".join(parts)


@contextmanager
def wired(client: Client) -> Iterator[Wired]:
    ours, theirs = socket.socketpair()
    client.use(ours)
    ours.setblocking(False)
    theirs.setblocking(False)
    with ours, theirs, Loop() as loop:
        loop.add([client])
        loop.begin()
        yield Wired(loop, theirs)


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    """Return the pieces of `data` after cuts at these places."""
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]
