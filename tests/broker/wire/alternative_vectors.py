"""Alternative encodings of packets in the table, which are decoded but never written."""

from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Disconnect,
    Pingreq,
    Puback,
    Pubrel,
    Subscribe,
    Subscription,
    Unsubscribe,
)
from tests.broker.wire.notation import frame, octets
from tests.broker.wire.vector import BOTH, CLIENT, SERVER, Vector

ALTERNATIVES = [
    Vector(
        "a reason code of 0 and no properties need not be there but may",
        (5,),
        BOTH,
        octets("40 04 0001 00 00"),
        Puback(1),
    ),
    Vector("PUBACK may have the reason code alone", (5,), BOTH, octets("40 03 0001 00"), Puback(1)),
    Vector(
        "DISCONNECT may have 0 and no properties", (5,), BOTH, octets("e0 02 00 00"), Disconnect()
    ),
    Vector("PUBREL of 3.1 may be a repetition", (3,), BOTH, octets("6a 02 0001"), Pubrel(1)),
    Vector(
        "SUBSCRIBE of 3.1 may be a repetition",
        (3,),
        CLIENT,
        frame("8a", "0001 0001 'a' 00"),
        Subscribe(1, [Subscription("a", 0)]),
    ),
    Vector(
        "UNSUBSCRIBE of 3.1 may be a repetition",
        (3,),
        CLIENT,
        frame("aa", "0001 0001 'a'"),
        Unsubscribe(1, ["a"]),
    ),
    Vector(
        "the reserved byte of a CONNACK of 3.1 is not read",
        (3,),
        SERVER,
        octets("20 02 ff 00"),
        Connack(False, 0),
    ),
    Vector(
        "MQTT 3 allows a remaining length with needless bytes",
        (3, 4),
        CLIENT,
        octets("c0 808000"),
        Pingreq(),
    ),
    Vector(
        "the reserved connect flag of 3.1 is not read",
        (3,),
        CLIENT,
        frame("10", "0006 'MQIsdp' 03 03 003c 0001 'a'"),
        Connect(3, "a", True, 60, None, None, None),
    ),
    Vector(
        "will QoS and will retain of 3.1 are disregarded without a will",
        (3,),
        CLIENT,
        frame("10", "0006 'MQIsdp' 03 3a 003c 0001 'a'"),
        Connect(3, "a", True, 60, None, None, None),
    ),
    Vector(
        "user name and password may be left out in 3.1 where the flags promise them",
        (3,),
        CLIENT,
        frame("10", "0006 'MQIsdp' 03 c2 003c 0001 'a'"),
        Connect(3, "a", True, 60, None, None, None),
    ),
    Vector(
        "the password may be left out in 3.1",
        (3,),
        CLIENT,
        frame("10", "0006 'MQIsdp' 03 c2 003c 0001 'a' 0001 'u'"),
        Connect(3, "a", True, 60, None, "u", None),
    ),
]
