"""A ZiGate coordinator at a TCP port, with a weather sensor and a plug in its Zigbee network.

Frames, codes and payloads are those of the ZiGate's documentation (zigate.fr, "commandes ZiGate")
in raw mode, as zigbee-herdsman uses them. Contents of radio messages are those of the Zigbee
Cluster Library. Numbers of the ZiGate are big-endian, those of the library little-endian.
"""

import contextlib
import enum
import functools
import operator
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

from tests.system.broker_process import free_port

COORDINATOR, SENSOR, PLUG = 0x0000, 0x1001, 0x1002
"""Network addresses."""
IEEE = {
    COORDINATOR: "0x00158d0000000001",
    SENSOR: "0x00158d0000001001",
    PLUG: "0x000b57fffe001002",
}
CHANNEL, PAN_ID, EXTENDED_PAN_ID = 11, 0x1A62, 0x00DDDDDDDDDDDDDD
LINK_QUALITY = 200
HOME_AUTOMATION, ZDO = 0x0104, 0x0000
"""Profiles: of the devices' values, and of the network's management."""
BIND_RESPONSE, UNBIND_RESPONSE = 0x8021, 0x8022


class Command(enum.IntEnum):
    """Commands that the host sends."""

    GET_NETWORK_STATE = 0x0009
    GET_VERSION = 0x0010
    RESET = 0x0011
    START_NETWORK = 0x0024
    BIND = 0x0030
    UNBIND = 0x0031
    SEND = 0x0530


class Message(enum.IntEnum):
    """Messages that the ZiGate sends."""

    STATUS = 0x8000
    DATA = 0x8002
    RESTARTED = 0x8006
    NETWORK_STATE = 0x8009
    VERSION = 0x8010
    JOINED = 0x8024


# The cluster library: clusters, commands of all clusters, types.
ON_OFF, TEMPERATURE, HUMIDITY = 0x0006, 0x0402, 0x0405
READ, READ_RESPONSE, CONFIGURE_REPORTING, REPORTING_RESPONSE = 0x00, 0x01, 0x06, 0x07
REPORT, DEFAULT_RESPONSE = 0x0A, 0x0B
BOOLEAN, UNSIGNED_16, SIGNED_16 = 0x10, 0x21, 0x29
UNSUPPORTED_ATTRIBUTE = 0x86
SPECIFIC_COMMAND, MANUFACTURER_SPECIFIC = 0x01, 0x04
FROM_SERVER, NO_DEFAULT_RESPONSE = 0x08, 0x10


def frame_of(code: int, payload: bytes) -> bytes:
    """Return a message of the ZiGate: start, escaped contents with their checksum, end."""
    content = payload + bytes((LINK_QUALITY,))
    head = struct.pack(">HH", code, len(content))
    checksum = functools.reduce(operator.xor, head + content)
    escaped = bytearray()
    for byte in head + bytes((checksum,)) + content:
        escaped += bytes((byte,)) if byte >= 0x10 else bytes((0x02, byte ^ 0x10))
    return b"\x01" + bytes(escaped) + b"\x03"


def command_of(frame: bytes) -> tuple[int, bytes]:
    """Return code and payload of a command without its start and end. Asserts its checksum."""
    plain, is_escaped = bytearray(), False
    for byte in frame:
        if byte == 0x02 and not is_escaped:
            is_escaped = True
            continue
        plain.append(byte ^ 0x10 if is_escaped else byte)
        is_escaped = False
    code, size, checksum = struct.unpack(">HHB", plain[:5])
    payload = bytes(plain[5:])
    assert len(payload) == size, frame.hex()
    assert checksum == functools.reduce(operator.xor, plain[:4] + payload), frame.hex()
    return code, payload


class ZiGate:
    """The coordinator, its network and its server, which runs on a thread until `close`."""

    def __init__(self) -> None:
        self.port = free_port()
        self.is_on = False
        """The state of the plug."""
        self._server = socket.create_server(("127.0.0.1", self.port))
        self._connection: socket.socket | None = None
        self._writing = threading.Lock()
        self._transaction = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the server."""
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def report(self, cluster: int, kind: int, value: int) -> None:
        """Send a report of the sensor: its first attribute in this cluster."""
        form = "<H" if kind == UNSIGNED_16 else "<h"
        self._transaction = (self._transaction + 1) % 256
        head = bytes((FROM_SERVER | NO_DEFAULT_RESPONSE, self._transaction, REPORT))
        content = head + struct.pack("<HB", 0, kind) + struct.pack(form, value)
        self._radio(SENSOR, HOME_AUTOMATION, cluster, content)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):  # it is closed
            while True:
                self._connection, _ = self._server.accept()
                with contextlib.suppress(ConnectionError):
                    for code, payload in self._commands(self._connection):
                        self._answer(code, payload)
                self._connection.close()

    @staticmethod
    def _commands(connection: socket.socket) -> Iterator[tuple[int, bytes]]:
        """Yield the commands of a connection."""
        buffer = b""
        while data := connection.recv(4096):
            buffer += data
            while b"\x03" in buffer:
                frame, _, buffer = buffer.partition(b"\x03")
                assert frame.startswith(b"\x01"), frame.hex()
                yield command_of(frame[1:])

    def _write(self, code: int, payload: bytes) -> None:
        assert self._connection is not None
        with self._writing:
            self._connection.sendall(frame_of(code, payload))

    def _answer(self, code: int, payload: bytes) -> None:
        if code == Command.RESET:
            self._write(Message.RESTARTED, b"\x02")
            return
        self._write(Message.STATUS, struct.pack(">BBH", 0, 0, code))
        match code:
            case Command.GET_NETWORK_STATE:
                ieee = int(IEEE[COORDINATOR], 16)
                state = struct.pack(">HQHQB", COORDINATOR, ieee, PAN_ID, EXTENDED_PAN_ID, CHANNEL)
                self._write(Message.NETWORK_STATE, state)
            case Command.GET_VERSION:
                self._write(Message.VERSION, struct.pack(">BBH", 3, 0x21, 0x0322))
            case Command.START_NETWORK:
                self._write(Message.JOINED, struct.pack(">BH", 0, COORDINATOR))
            case Command.BIND | Command.UNBIND:
                cluster = BIND_RESPONSE if code == Command.BIND else UNBIND_RESPONSE
                self._radio(PLUG, ZDO, cluster, b"\x00\x00")
            case Command.SEND:
                self._receive(payload)

    def _radio(self, source: int, profile: int, cluster: int, content: bytes) -> None:
        """Pass on a message that a device has sent by radio."""
        endpoint = 0 if profile == ZDO else 1
        head = struct.pack(
            ">BHHBBBHBH", 0, profile, cluster, endpoint, endpoint, 2, source, 2, COORDINATOR
        )
        self._write(Message.DATA, head + content)

    def _receive(self, payload: bytes) -> None:
        """Send a message by radio: the plug answers, the sensor sleeps."""
        _, target, _, _, cluster, _, _, _, size = struct.unpack(">BHBBHHBBB", payload[:12])
        content = payload[12 : 12 + size]
        if target != PLUG:
            return
        control, transaction, command = content[0], content[1], content[2]
        rest, manufacturer = content[3:], b""
        if control & MANUFACTURER_SPECIFIC:
            manufacturer = content[1:3]
            transaction, command, rest = content[3], content[4], content[5:]
        if control & SPECIFIC_COMMAND:
            answer, contents = DEFAULT_RESPONSE, self._carry_out(cluster, command)
        elif command == READ:
            answer, contents = READ_RESPONSE, self._read(cluster, rest)
        elif command == CONFIGURE_REPORTING:
            answer, contents = REPORTING_RESPONSE, b"\x00"
        elif control & NO_DEFAULT_RESPONSE:
            return
        else:
            answer, contents = DEFAULT_RESPONSE, bytes((command, 0))
        answer_control = FROM_SERVER | NO_DEFAULT_RESPONSE | (control & MANUFACTURER_SPECIFIC)
        head = bytes((answer_control,)) + manufacturer + bytes((transaction, answer))
        self._radio(PLUG, HOME_AUTOMATION, cluster, head + contents)

    def _carry_out(self, cluster: int, command: int) -> bytes:
        """Switch the plug, and return the contents of its answer."""
        if cluster == ON_OFF:
            self.is_on = not self.is_on if command == 2 else command == 1
        return bytes((command, 0))

    def _read(self, cluster: int, wanted: bytes) -> bytes:
        """Return the values of the wanted attributes. The plug has one: its state."""
        found = b""
        for (attribute,) in struct.iter_unpack("<H", wanted):
            found += struct.pack("<H", attribute)
            if (cluster, attribute) == (ON_OFF, 0):
                found += bytes((0, BOOLEAN, self.is_on))
            else:
                found += bytes((UNSUPPORTED_ATTRIBUTE,))
        return found


def database() -> list[dict[str, Any]]:
    """Return what zigbee-herdsman stores of this network: devices that were interviewed before."""

    def device(number: int, address: int, **more: Any) -> dict[str, Any]:
        endpoint = {
            "profId": HOME_AUTOMATION,
            "epId": 1,
            "devId": more.pop("device_id"),
            "inClusterList": more.pop("clusters"),
            "outClusterList": [],
            "clusters": {},
            "binds": [],
            "configuredReportings": [],
            "meta": {},
        }
        return {
            "id": number,
            "ieeeAddr": IEEE[address],
            "nwkAddr": address,
            "epList": [1],
            "endpoints": {"1": endpoint},
            "interviewCompleted": True,
            "interviewState": "SUCCESSFUL",
            "meta": {},
            "lastSeen": None,
            **more,
        }

    return [
        device(1, COORDINATOR, type="Coordinator", device_id=5, clusters=[]),
        device(
            2,
            SENSOR,
            type="EndDevice",
            device_id=0x5F01,
            clusters=[0, 3, TEMPERATURE, HUMIDITY, 0xFFFF],
            manufId=4151,
            manufName="LUMI",
            modelId="lumi.weather",
            powerSource="Battery",
        ),
        device(
            3,
            PLUG,
            type="Router",
            device_id=0x010A,
            clusters=[0, 3, 4, 5, ON_OFF],
            manufId=4476,
            manufName="IKEA of Sweden",
            modelId="TRADFRI control outlet",
            powerSource="Mains (single phase)",
        ),
    ]
