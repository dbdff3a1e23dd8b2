"""CONNECT and CONNACK with their bytes, written by hand from the figures in the standards."""

from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Will,
)
from tests.broker.wire.notation import frame, octets
from tests.broker.wire.sample_properties import (
    connack_properties,
    connect_properties,
    properties,
    will_properties,
)
from tests.broker.wire.vector import CLIENT, SERVER, Vector

CONNECTS = [
    Vector(
        "CONNECT of MQTT 3.1",
        (3,),
        CLIENT,
        frame("10", "0006 'MQIsdp' 03 02 003c 0001 'a'"),
        Connect(3, "a", True, 60, None, None, None),
    ),
    Vector(
        "CONNECT of MQTT 3.1.1",
        (4,),
        CLIENT,
        frame("10", "0004 'MQTT' 04 00 ffff 0003 'abc'"),
        Connect(4, "abc", False, 65535, None, None, None),
    ),
    Vector(
        "CONNECT with an empty client identifier",
        (4,),
        CLIENT,
        frame("10", "0004 'MQTT' 04 02 0000 0000"),
        Connect(4, "", True, 0, None, None, None),
    ),
    Vector(
        "CONNECT with will, user name and password",
        (4,),
        CLIENT,
        frame("10", "0004 'MQTT' 04 f4 000a 0001 'c' 0003 'w/t' 0002 0001 0001 'u' 0002 'pw'"),
        Connect(4, "c", False, 10, Will("w/t", b"\x00\x01", 2, True), "u", b"pw"),
    ),
    Vector(
        "CONNECT with an empty will payload, an empty user name and an empty password",
        (4,),
        CLIENT,
        frame("10", "0004 'MQTT' 04 c6 000a 0001 'c' 0001 'w' 0000 0000 0000"),
        Connect(4, "c", True, 10, Will("w", b"", 0, False), "", b""),
    ),
    Vector(
        "CONNECT with a user name alone",
        (3,),
        CLIENT,
        frame("10", "0006 'MQIsdp' 03 80 0001 0001 'c' 0001 'u'"),
        Connect(3, "c", False, 1, None, "u", None),
    ),
    Vector(
        "CONNECT of MQTT 5.0",
        (5,),
        CLIENT,
        frame("10", "0004 'MQTT' 05 02 003c 00 0001 'a'"),
        Connect(5, "a", True, 60, None, None, None),
    ),
    Vector(
        "CONNECT of MQTT 5.0 with a password and no user name",
        (5,),
        CLIENT,
        frame("10", "0004 'MQTT' 05 42 003c 00 0000 0001 'p'"),
        Connect(5, "", True, 60, None, None, b"p"),
    ),
    Vector(
        "CONNECT with every property it can have",
        (5,),
        CLIENT,
        frame(
            "10",
            "0004 'MQTT' 05 00 003c 2f 11ffffffff 15 0005 'SCRAM' 16 0002 0102 1700 1901 210014"
            "22000a 26 0001 'a' 0001 '1' 26 0001 'a' 0001 '2' 27 00010000 0001 'a'",
        ),
        Connect(5, "a", False, 60, None, None, None, properties(connect_properties)),
    ),
    Vector(
        "CONNECT with a will that has every property it can have",
        (5,),
        CLIENT,
        frame(
            "10",
            "0004 'MQTT' 05 0e 003c 00 0001 'a'"
            "1d 0101 020000003c 03 0004 'text' 08 0003 'r/t' 09 0001 ff 1800000005"
            "0001 'w' 0001 'x'",
        ),
        Connect(
            5, "a", True, 60, Will("w", b"x", 1, False, properties(will_properties)), None, None
        ),
    ),
]

CONNACKS = [
    Vector("CONNACK", (3, 4), SERVER, octets("20 02 00 00"), Connack(False, 0)),
    Vector("CONNACK with session present", (4,), SERVER, octets("20 02 01 00"), Connack(True, 0)),
    Vector("CONNACK that refuses", (3, 4), SERVER, octets("20 02 00 05"), Connack(False, 5)),
    Vector("CONNACK of MQTT 5.0", (5,), SERVER, octets("20 03 01 00 00"), Connack(True, 0)),
    Vector("CONNACK refuses 5.0", (5,), SERVER, octets("20 03 00 9f 00"), Connack(False, 0x9F)),
    Vector(
        "CONNACK with every property it can have",
        (5,),
        SERVER,
        frame(
            "20",
            "00 00 37 1100000000 12 0004 'auto' 13001e 1a 0002 'ri' 1c 0005 'other' 1f 0003 'why'"
            "210001 220000 2401 2500 2700000001 2801 2900 2a01",
        ),
        Connack(False, 0, properties(connack_properties)),
    ),
]
