"""An unreliable link, which forwards bytes between clients and a port and cuts after a random
number of bytes."""

import asyncio
import contextlib
import random
from collections.abc import Callable
from typing import Self

CHUNK_BYTES = 4096


def _take_nothing(data: bytes) -> None:
    """Ignore the bytes."""


class CuttingProxy:
    """A proxy that listens on `port` and cuts each connection after some bytes, counted in both
    directions.

    It cuts `lives` connections; later ones stay. A connection is cut after 1 to `bytes_max` bytes,
    which may be inside CONNECT or after some hundred messages. `watch` is called for each
    connection and returns a function for the bytes that come from the port.
    """

    def __init__(
        self,
        target_port: int,
        source: random.Random,
        *,
        lives: int,
        bytes_max: int,
        watch: Callable[[], Callable[[bytes], None]] = lambda: _take_nothing,
    ) -> None:
        self.port = 0
        self.cuts = 0
        self._target_port = target_port
        self._source = source
        self._lives = lives
        self._bytes_max = bytes_max
        self._watch = watch
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._carrying: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    def cut(self) -> None:
        """Cut all present connections."""
        for writer in self._writers:
            writer.transport.abort()

    def stop_cutting(self) -> None:
        """Cut no more connections from now on."""
        self._lives = 0

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, back}
        self._writers |= ends
        budget = [self._source.randint(1, self._bytes_max)]
        carrying = [
            asyncio.ensure_future(self._pump(reader, back, budget, _take_nothing)),
            asyncio.ensure_future(self._pump(there, writer, budget, self._watch())),
        ]
        await asyncio.wait(carrying, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.transport.abort()
        for pump in carrying:
            pump.cancel()
        await asyncio.gather(*carrying, return_exceptions=True)
        self._writers -= ends

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        budget: list[int],
        take: Callable[[bytes], None],
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(CHUNK_BYTES):
                if self.cuts < self._lives:
                    budget[0] -= len(data)
                    if budget[0] < 0:
                        self.cuts += 1
                        # The start of a packet may get through, but not its end.
                        writer.write(data[: budget[0]])
                        return
                take(data)
                writer.write(data)
                await writer.drain()
