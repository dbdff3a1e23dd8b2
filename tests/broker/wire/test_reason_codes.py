"""Table 2-6 of MQTT 5.0 (section 2.4): each of the 256 codes in each packet, by its sender.

The table is written from the standard. A packet marked `>` may have the code only if the client
sends it, and `<` only if the server does (tables 3-13 and 3-11 for DISCONNECT and AUTH).
"""

import pytest

from gateway.broker.wire.decoder import Decoder
from tests.broker.wire.notation import octets

TABLE = """
00 CONNACK PUBACK PUBREC PUBREL PUBCOMP UNSUBACK AUTH< SUBACK DISCONNECT
01 SUBACK
02 SUBACK
04 DISCONNECT>
10 PUBACK PUBREC
11 UNSUBACK
18 AUTH
19 AUTH>
80 CONNACK PUBACK PUBREC SUBACK UNSUBACK DISCONNECT
81 CONNACK DISCONNECT
82 CONNACK DISCONNECT
83 CONNACK PUBACK PUBREC SUBACK UNSUBACK DISCONNECT
84 CONNACK
85 CONNACK
86 CONNACK
87 CONNACK PUBACK PUBREC SUBACK UNSUBACK DISCONNECT<
88 CONNACK
89 CONNACK DISCONNECT<
8a CONNACK
8b DISCONNECT<
8c CONNACK
8d DISCONNECT<
8e DISCONNECT<
8f SUBACK UNSUBACK DISCONNECT<
90 CONNACK PUBACK PUBREC DISCONNECT
91 PUBACK PUBREC SUBACK UNSUBACK
92 PUBREL PUBCOMP
93 DISCONNECT
94 DISCONNECT
95 CONNACK DISCONNECT
96 DISCONNECT
97 CONNACK PUBACK PUBREC SUBACK DISCONNECT
98 DISCONNECT
99 CONNACK PUBACK PUBREC DISCONNECT
9a CONNACK DISCONNECT<
9b CONNACK DISCONNECT<
9c CONNACK DISCONNECT<
9d CONNACK DISCONNECT<
9e SUBACK DISCONNECT<
9f CONNACK DISCONNECT<
a0 DISCONNECT<
a1 SUBACK DISCONNECT<
a2 SUBACK DISCONNECT<
"""
CODES = {int(row.split()[0], 16): row.split()[1:] for row in TABLE.strip().splitlines()}

# The bytes before and after the reason code of each packet.
PACKETS = {
    "CONNACK": ("20 03 00", "00"),
    "PUBACK": ("40 04 0001", "00"),
    "PUBREC": ("50 04 0001", "00"),
    "PUBREL": ("62 04 0001", "00"),
    "PUBCOMP": ("70 04 0001", "00"),
    "SUBACK": ("90 04 0001 00", ""),
    "UNSUBACK": ("b0 04 0001 00", ""),
    "DISCONNECT": ("e0 02", "00"),
    "AUTH": ("f0 06", "04 15 0001 'm'"),
}
ONE_SIDED = {"CONNACK", "SUBACK", "UNSUBACK"}
SENT = [("client", name) for name in PACKETS if name not in ONE_SIDED]
SENT += [("server", name) for name in PACKETS]


@pytest.mark.statement(
    "MQTT5-3.4.2-1",
    "MQTT5-3.5.2-1",
    "MQTT5-3.6.2-1",
    "MQTT5-3.7.2.1-1",
    "MQTT5-3.9.3-2",
    "MQTT5-3.11.3-2",
    "MQTT5-3.14.2-1",
    "MQTT5-3.15.2-1",
)
@pytest.mark.parametrize(("sender", "packet"), SENT)
def test_a_code_is_taken_only_where_the_standard_has_it(sender: str, packet: str) -> None:
    before, behind = PACKETS[packet]
    mark = ">" if sender == "client" else "<"
    side = "server" if sender == "client" else "client"
    for code in range(256):
        decoder = Decoder(1 << 20, 5, side)  # type: ignore[arg-type]
        packets = decoder.feed(octets(before) + bytes([code]) + octets(behind))
        row = CODES.get(code, [])
        if packet in row or packet + mark in row:
            assert decoder.error is None, f"{code:#04x}: {decoder.error}"
            assert len(packets) == 1
        else:
            assert decoder.error is not None, f"{code:#04x}"
            assert (decoder.error.reason, decoder.error.reason_code) == ("reason_code", 0x81)
