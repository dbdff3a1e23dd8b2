"""Table 2-4 of MQTT 5.0 (section 2.2.2.2): each property in each packet, by its sender.

The table is written from the standard, not from the code. A row has the identifier, the type of the
value, and the packets. A packet marked `>` may contain the property only if the client sends it,
and `<` only if the server does.
"""

import pytest

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.malformed import Malformed
from tests.broker.wire.notation import octets

METHOD, METHOD_DATA = 21, 22


TABLE = """
01 bit      PUBLISH WILL
02 four     PUBLISH WILL
03 string   PUBLISH WILL
08 string   PUBLISH WILL
09 string   PUBLISH WILL
0b variable PUBLISH< SUBSCRIBE
11 four     CONNECT CONNACK DISCONNECT>
12 string   CONNACK
13 two      CONNACK
15 string   CONNECT CONNACK AUTH
16 string   CONNECT CONNACK AUTH
17 bit      CONNECT
18 four     WILL
19 bit      CONNECT
1a string   CONNACK
1c string   CONNACK DISCONNECT<
1f string   CONNACK PUBACK PUBREC PUBREL PUBCOMP SUBACK UNSUBACK DISCONNECT AUTH
21 two      CONNECT CONNACK
22 two      CONNECT CONNACK
23 two      PUBLISH
24 bit      CONNACK
25 bit      CONNACK
26 pair     CONNECT CONNACK PUBLISH WILL PUBACK PUBREC PUBREL PUBCOMP SUBSCRIBE SUBACK UNSUBSCRIBE \
UNSUBACK DISCONNECT AUTH
27 four     CONNECT CONNACK
28 bit      CONNACK
29 bit      CONNACK
2a bit      CONNACK
"""


ROWS = {int(row.split()[0], 16): row.split()[1:] for row in TABLE.strip().splitlines()}


# The bytes before and after the properties of each packet.
PACKETS = {
    "CONNECT": ("10", "0004 'MQTT' 05 02 003c", "0001 'c'"),
    "WILL": ("10", "0004 'MQTT' 05 06 003c 00 0001 'c'", "0001 'w' 0000"),
    "CONNACK": ("20", "00 00", ""),
    "PUBLISH": ("30", "0001 'a'", "'x'"),
    "PUBACK": ("40", "0001 00", ""),
    "PUBREC": ("50", "0001 00", ""),
    "PUBREL": ("62", "0001 00", ""),
    "PUBCOMP": ("70", "0001 00", ""),
    "SUBSCRIBE": ("82", "0001", "0001 'a' 00"),
    "SUBACK": ("90", "0001", "00"),
    "UNSUBSCRIBE": ("a2", "0001", "0001 'a'"),
    "UNSUBACK": ("b0", "0001", "00"),
    "DISCONNECT": ("e0", "00", ""),
    "AUTH": ("f0", "18", ""),
}


FROM_CLIENT = set(PACKETS) - {"CONNACK", "SUBACK", "UNSUBACK"}


FROM_SERVER = set(PACKETS) - {"CONNECT", "WILL", "SUBSCRIBE", "UNSUBSCRIBE"}


SENT = [("client", name) for name in PACKETS if name in FROM_CLIENT] + [
    ("server", name) for name in PACKETS if name in FROM_SERVER
]


every_packet = pytest.mark.parametrize(("sender", "packet"), SENT)


def value_of(kind: str) -> bytes:
    """Return a valid value of this type; binary data has the same format as a string."""
    values = {"bit": "01", "two": "0001", "four": "00000001", "variable": "01"}
    return octets(values.get(kind, "0001 'a'" if kind == "string" else "0001 'k' 0001 'v'"))


def error_of(sender: str, packet: str, properties: bytes) -> Malformed | None:
    """Decode the packet with these properties; return the decoder's error, or None."""
    identifier = properties[0]
    if identifier != METHOD and (packet == "AUTH" or identifier == METHOD_DATA):
        properties = octets("15 0001 'm'") + properties  # these properties need a method
    first, before, behind = PACKETS[packet]
    body = octets(before) + bytes([len(properties)]) + properties + octets(behind)
    if packet in ("CONNECT", "WILL"):
        decoder = Decoder(1 << 20)
    else:
        decoder = Decoder(1 << 20, 5, "server" if sender == "client" else "client")
    packets = decoder.feed(octets(first) + bytes([len(body)]) + body)
    assert (len(packets) == 1) is (decoder.error is None)
    return decoder.error


def judged(error: Malformed | None) -> tuple[str, int] | None:
    return None if error is None else (error.reason, error.reason_code)


def is_allowed(sender: str, packet: str, identifier: int) -> bool:
    mark = ">" if sender == "client" else "<"
    return packet in ROWS[identifier] or packet + mark in ROWS[identifier]
