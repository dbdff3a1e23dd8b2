"""Creates the clients of a scenario, connects them, and disconnects them."""

import os
import resource
import ssl
import time
from collections.abc import Iterator
from typing import Final

from gateway.tools.bench.connection import BenchFailed, Client
from gateway.tools.bench.frames import BLOCK_MESSAGES, Frames
from gateway.tools.bench.latency import Samples, SendTimes
from gateway.tools.bench.publisher import FlowControl, Publisher
from gateway.tools.bench.scenario import Scenario
from gateway.tools.bench.subscriber import Source, Subscriber

BURST_BYTES_MAX: Final = 256 * 1024
"""Maximum bytes in the matrix of a publisher's frames, and in one read. Data of this size is still
in the CPU cache when it is compared."""

MATRICES_BYTES: Final = 64 * 1024 * 1024
"""Maximum bytes of all matrices together. With many publishers, each matrix is smaller."""

OTHER_FILES: Final = 32
"""Number of file descriptors that the process needs in addition to its sockets."""


class Clients:
    """All publishers and subscribers of a load generator run."""

    def __init__(self, scenario: Scenario) -> None:
        self.deliveries = Samples()
        self.acknowledgements = Samples()
        self._scenario = scenario
        ca = scenario.authorities
        self._tls = None if ca is None else ssl.create_default_context(cafile=ca)
        # A unique name, so that concurrent runs and sessions of earlier runs do not interfere.
        self._run = f"{os.getpid():x}-{time.time_ns() & 0xFFFFFFFF:08x}"
        self.publishers = [self._publisher(number) for number in range(scenario.publishers)]
        # One matrix per publisher for all comparisons.
        expected = [self._frames(number) for number in range(scenario.publishers)]
        self.subscribers = [
            self._subscriber(number, expected) for number in range(scenario.subscribers)
        ]
        for subscriber in self.subscribers:
            for number, source in subscriber.sources.items():
                self.publishers[number].receivers.append(source.sequences)

    def __iter__(self) -> Iterator[Client]:
        # Clients that only subscribe are connected before any client publishes.
        yield from self.subscribers
        yield from self.publishers

    def _frames(self, publisher: int) -> Frames:
        scenario = self._scenario
        room_bytes = min(BURST_BYTES_MAX, MATRICES_BYTES // (2 * scenario.publishers))
        return Frames(
            topic=scenario.topic_of(self._run, publisher),
            publisher=publisher,
            payload_bytes=scenario.payload_bytes,
            qos=scenario.qos,
            version=scenario.version,
            rows=min(BLOCK_MESSAGES, max(1, room_bytes // scenario.row_bytes)),
        )

    def _publisher(self, number: int) -> Publisher:
        scenario = self._scenario
        # Late or abandoned messages must not be timed as if they were later messages.
        in_transit_max = 2 * max(scenario.outstanding_messages, scenario.window)
        return Publisher(
            f"bench-{self._run}-p{number}",
            scenario.version,
            frames=self._frames(number),
            flow_control=FlowControl(scenario.qos, scenario.window, scenario.outstanding_messages),
            send_times=SendTimes(step=scenario.timing_step, in_transit_max=in_transit_max),
            samples=self.acknowledgements,
        )

    def _subscriber(self, number: int, expected: list[Frames]) -> Subscriber:
        sources = {
            publisher: Source(expected[publisher], self.publishers[publisher].send_times)
            for publisher in self._scenario.sources_of(number)
        }
        return Subscriber(
            f"bench-{self._run}-s{number}",
            self._scenario.version,
            sources=sources,
            qos=self._scenario.qos,
            samples=self.deliveries,
        )

    def connect(self) -> None:
        """Connect all clients, and subscribe the subscribers to their topics.

        Raises BenchFailed if the broker refuses a client, and OSError if the broker cannot be
        reached.
        """
        _allow_files(self._scenario.publishers + self._scenario.subscribers + OTHER_FILES)
        for client in self:
            self._admit(client, keeps_session=self._scenario.persistent)
        for subscriber in self.subscribers:
            subscriber.subscribe()
        for publisher in self.publishers:
            # [MQTT5-3.3.4-9]
            publisher.window = min(publisher.window, publisher.receive_maximum)
        for client in self:
            client.connection.setblocking(False)

    def disconnect_subscribers(self) -> None:
        """Disconnect the subscribers.

        Their sessions remain, and the broker queues messages for them.
        """
        for subscriber in self.subscribers:
            subscriber.disconnect()
        for publisher in self.publishers:
            publisher.receivers = []

    def reconnect_subscribers(self) -> None:
        """Connect the subscribers again.

        Raises BenchFailed if the broker refuses a subscriber, and OSError if the broker cannot be
        reached.
        """
        for subscriber in self.subscribers:
            for number, source in subscriber.sources.items():
                self.publishers[number].receivers.append(source.sequences)
            self._admit(subscriber, keeps_session=True)
            subscriber.connection.setblocking(False)

    def disconnect(self) -> None:
        """Disconnect all clients. If the broker can still be reached, delete their sessions."""
        for client in self:
            client.disconnect()
        if not self._scenario.persistent:
            return
        for client in self:
            try:
                self._admit(client, keeps_session=False)
            except (OSError, BenchFailed):
                # The broker is gone; the earlier error is more important.
                client.close()
                return
            client.disconnect()

    def _admit(self, client: Client, *, keeps_session: bool) -> None:
        scenario = self._scenario
        connect = client.connect_of(
            keeps_session=keeps_session,
            receive_maximum=scenario.window,
            username=scenario.username,
            password=scenario.password,
        )
        client.connect(scenario.host, scenario.port, connect, self._tls)


def _allow_files(count: int) -> None:
    """Raise the soft limit on open files to `count` if it is lower.

    Raises BenchFailed if the hard limit is too low.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        if hard != resource.RLIM_INFINITY and hard < count:
            raise BenchFailed(
                f"{count} open files are needed and {hard} allowed: raise it with ulimit -n"
            )
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
