"""A subscriber on the host with a persistent session at QoS 2, which connects through the forwarded
port.

It stores the identifiers of unreleased messages, as the standard requires from a device that keeps
running while the gateway's power is cut. It reconnects until it is stopped.
"""

import contextlib
import json
import socket
import threading
import time
from collections import Counter

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Packet,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
)

VERSION = 4
Reading = tuple[str, int, int, str]


class Subscriber:
    """A subscriber whose `readings` counts each `(device, boot, sequence, quantity)`."""

    def __init__(self, port: int, user: str, password: str) -> None:
        self.port = port
        self.readings: Counter[Reading] = Counter()
        self.subscribed = threading.Event()
        self.sessions_lost = 0
        self._credentials = (user, password.encode())
        self._held: set[int] = set()
        self._has_session = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Subscriber":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(60)

    def wait_for(self, count: int, seconds: float) -> None:
        """Wait until at least `count` different readings have arrived."""
        until = time.monotonic() + seconds
        while len(self.readings) < count:
            assert time.monotonic() < until, f"{len(self.readings)} readings of {count}"
            time.sleep(0.2)

    def _run(self) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(OSError), socket.socket() as connection:
                connection.settimeout(5)
                connection.connect(("127.0.0.1", self.port))
                self._connected(connection)
            self._ended.wait(1)

    def _connected(self, connection: socket.socket) -> None:
        user, password = self._credentials
        decoder = Decoder(1 << 20, VERSION, "client")
        connect = Connect(VERSION, "host-subscriber", False, 0, None, user, password)
        connection.sendall(encode(connect, VERSION))
        while not self._ended.is_set():
            try:
                data = connection.recv(65_536)
            except TimeoutError:
                continue
            if not data:
                return
            for packet in decoder.feed(data):
                answer = self._answer_to(packet)
                if answer is not None:
                    connection.sendall(encode(answer, VERSION))

    def _answer_to(self, packet: Packet) -> Packet | None:
        if isinstance(packet, Connack):
            if packet.reason_code:
                raise ConnectionRefusedError(packet.reason_code)
            self.sessions_lost += self._has_session and not packet.session_present
            return None if packet.session_present else self._subscribe()
        if isinstance(packet, Suback):
            assert packet.reason_codes == [2]
            self._has_session = True
            self.subscribed.set()
        elif isinstance(packet, Publish):
            if packet.packet_id not in self._held:
                self._held.add(packet.packet_id)
                self._count(packet)
            return Pubrec(packet.packet_id)
        elif isinstance(packet, Pubrel):
            self._held.discard(packet.packet_id)
            return Pubcomp(packet.packet_id)
        return None

    def _subscribe(self) -> Packet:
        self._held.clear()
        return Subscribe(1, [Subscription("sensors/#", 2)])

    def _count(self, publish: Publish) -> None:
        device, quantity = publish.topic.split("/")[1:]
        first = json.loads(publish.payload)[0]
        self.readings[device, first["boot"], first["sequence"], quantity] += 1
