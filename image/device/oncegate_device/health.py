"""Health check of the gateway. A slot on trial is kept only if this check succeeds.

The check opens a persistent session, which the broker confirms only after storing it. The check
then publishes a QoS 2 message, and must receive this message from the broker exactly once. Finally
it requests `/readyz` from the web page's server, which must report that the broker responds.
"""

import http.client
import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from firmware_bridge.protocols.table import PROTOCOLS

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Disconnect,
    Packet,
    Pingreq,
    Pingresp,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
)
from gateway.configuration import Configuration, ConfigurationError, load

CONFIGURATION = Path("/etc/oncegate/gateway.toml")
ANSWER_SECONDS_MAX = 30.0
"""Timeout for each response. A commit takes 1 to 2 s on a slow card, and 10 s in an emulator."""
PACKET_BYTES_MAX = 64 << 10
"""Largest packet accepted. The packets of the health check are far smaller."""
VERSION = 4
CLIENT_ID = "oncegate-health"


class NotHealthyError(Exception):
    """Raised if the gateway is not working. The message describes what happened."""


def check(configuration_file: Path = CONFIGURATION) -> str:
    """Check the gateway. Return a sentence with the result if the gateway is healthy.

    Raises:
        NotHealthyError: if the broker or the web page does not work.
    """
    started = time.monotonic()
    try:
        configuration = load(configuration_file, {}, {}, PROTOCOLS)
        if configuration.admits_bridge:
            # The check connects like the bridge. Without serial ports, neither may be allowed to.
            _broker_hands_over_once(configuration)
        _page_answers(configuration)
    except (OSError, http.client.HTTPException, ConfigurationError) as error:
        raise NotHealthyError(f"{type(error).__name__}: {error}") from error
    seconds = time.monotonic() - started
    return f"healthy: a message once through the broker, the page answers ({seconds:.1f} s)"


def _broker_hands_over_once(configuration: Configuration) -> None:
    payload = os.urandom(16)
    topic = f"oncegate-health/{payload.hex()}"
    client = _Client(configuration, clean=False)
    client.send(Subscribe(1, [Subscription(topic, 2)]))
    client.wait_for(lambda packet: isinstance(packet, Suback) and packet.reason_codes[0] == 2)
    client.send(Publish(topic, payload, 2, False, False, 2))
    client.wait_for(lambda packet: isinstance(packet, Pubcomp))
    client.wait_for(lambda packet: isinstance(packet, Pubrel))
    # When the broker answers this ping, a possible duplicate of the message has arrived too.
    client.send(Pingreq())
    client.wait_for(lambda packet: isinstance(packet, Pingresp))
    client.close()
    # Connecting the same client with a clean session removes the persistent session.
    _Client(configuration, clean=True).close()
    received = [each.payload for each in client.seen if isinstance(each, Publish)]
    if received != [payload]:
        raise NotHealthyError(f"the broker handed a message over {len(received)} times, not once")


class _Client:
    """An MQTT client that sends packets to the broker and waits for packets one by one.

    It sends QoS 2 acknowledgements automatically.
    """

    def __init__(self, configuration: Configuration, *, clean: bool) -> None:
        self.seen: list[Packet] = []
        self._decoder = Decoder(PACKET_BYTES_MAX, VERSION, "client")
        self._socket = socket.create_connection(
            configuration.broker_address, timeout=ANSWER_SECONDS_MAX
        )
        bridge = configuration.bridge
        password = None
        if bridge.password_file is not None:
            password = bridge.password_file.read_bytes().split(b"\n")[0]
        self._incoming = self._packets()
        self.send(Connect(VERSION, CLIENT_ID, clean, 60, None, bridge.username, password))
        self.wait_for(lambda packet: isinstance(packet, Connack) and packet.reason_code == 0)

    def send(self, packet: Packet) -> None:
        self._socket.sendall(encode(packet, VERSION))

    def wait_for(self, is_wanted: Callable[[Packet], bool]) -> None:
        """Read packets until one arrives for which `is_wanted` returns True.

        If a matching packet has already been read, return immediately. Raises NotHealthyError if
        the broker closes the connection.
        """
        if any(is_wanted(packet) for packet in self.seen):
            return
        for packet in self._incoming:
            if is_wanted(packet):
                return

    def close(self) -> None:
        self.send(Disconnect())
        self._socket.close()

    def _packets(self) -> Iterator[Packet]:
        while data := self._socket.recv(65_536):
            for packet in self._decoder.feed(data):
                self.seen.append(packet)
                if isinstance(packet, Publish):
                    self.send(Pubrec(packet.packet_id))
                elif isinstance(packet, Pubrec):
                    self.send(Pubrel(packet.packet_id))
                elif isinstance(packet, Pubrel):
                    self.send(Pubcomp(packet.packet_id))
                yield packet
        raise NotHealthyError("the broker closed the connection")


def _page_answers(configuration: Configuration) -> None:
    host, port = configuration.api.address
    if configuration.api.tls is None:
        connection = http.client.HTTPConnection(host, port, timeout=ANSWER_SECONDS_MAX)
    else:
        # This only checks whether the page responds, so the certificate is not verified.
        context = ssl._create_unverified_context()  # noqa: S323
        connection = http.client.HTTPSConnection(
            host, port, timeout=ANSWER_SECONDS_MAX, context=context
        )
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        if answer.status != 200:
            raise NotHealthyError(f"the page answers /readyz with {answer.status}, not 200")
    finally:
        connection.close()
