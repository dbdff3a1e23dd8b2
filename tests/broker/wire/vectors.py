"""Packets and their bytes: one table for encoding and decoding.

Each row states who sends the packet, and at which protocol levels its bytes are the same. The rows
were written by hand from the figures in the standards.
"""

from gateway.broker.wire.packets import (
    Auth,
    Disconnect,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
)
from tests.broker.wire.connect_vectors import CONNACKS, CONNECTS
from tests.broker.wire.notation import frame, octets
from tests.broker.wire.sample_properties import (
    alias,
    identifier,
    identifiers,
    method,
    properties,
    user,
    why,
)
from tests.broker.wire.vector import BOTH, CLIENT, SERVER, Vector

PUBLISHES = [
    Vector(
        "PUBLISH at QoS 0",
        (3, 4),
        BOTH,
        frame("30", "0003 'a/b' 'hello'"),
        Publish("a/b", b"hello", 0, False, False, 0),
    ),
    Vector(
        "PUBLISH retained without payload",
        (3, 4),
        BOTH,
        frame("31", "0001 'a'"),
        Publish("a", b"", 0, True, False, 0),
    ),
    Vector(
        "PUBLISH at QoS 1",
        (3, 4),
        BOTH,
        frame("32", "0001 'a' 0001 'x'"),
        Publish("a", b"x", 1, False, False, 1),
    ),
    Vector(
        "PUBLISH repeated at QoS 2",
        (3, 4),
        BOTH,
        frame("3d", "0001 'a' ffff 00"),
        Publish("a", b"\x00", 2, True, True, 65535),
    ),
    Vector(
        "PUBLISH to a topic with many kinds of characters",
        (3, 4),
        BOTH,
        frame("30", "000d 'é/€/' f09f8c8d '/$'"),
        Publish("é/€/\U0001f30d/$", b"", 0, False, False, 0),
    ),
    Vector(
        "PUBLISH to a topic that begins with a byte order mark",
        (4,),
        BOTH,
        frame("30", "0004 efbbbf 'a'"),
        Publish("\ufeffa", b"", 0, False, False, 0),
    ),
    Vector(
        "PUBLISH with a remaining length of two bytes",
        (3, 4),
        BOTH,
        octets("30 8001 0001 'a'") + b"p" * 125,
        Publish("a", b"p" * 125, 0, False, False, 0),
    ),
    Vector(
        "PUBLISH with a remaining length of three bytes",
        (3, 4),
        BOTH,
        octets("34 808001 0001 'a' 0102") + b"p" * 16379,
        Publish("a", b"p" * 16379, 2, False, False, 0x0102),
    ),
    Vector(
        "PUBLISH of MQTT 5.0",
        (5,),
        BOTH,
        frame("32", "0001 'a' 0001 00 'x'"),
        Publish("a", b"x", 1, False, False, 1),
    ),
    Vector(
        "PUBLISH with a topic alias for its topic",
        (5,),
        BOTH,
        frame("30", "0000 03 230007 'x'"),
        Publish("", b"x", 0, False, False, 0, properties(alias)),
    ),
    Vector(
        "PUBLISH with several subscription identifiers",
        (5,),
        SERVER,
        frame("30", "0001 'a' 0a 0b01 0bc801 0bffffff7f 'x'"),
        Publish("a", b"x", 0, False, False, 0, properties(identifiers)),
    ),
]

ACKNOWLEDGEMENTS = [
    Vector("PUBACK", (3, 4, 5), BOTH, octets("40 02 0001"), Puback(1)),
    Vector("PUBREC", (3, 4, 5), BOTH, octets("50 02 ffff"), Pubrec(65535)),
    Vector("PUBREL", (3, 4, 5), BOTH, octets("62 02 0100"), Pubrel(256)),
    Vector("PUBCOMP", (3, 4, 5), BOTH, octets("70 02 00ff"), Pubcomp(255)),
    Vector("PUBACK with a reason", (5,), BOTH, octets("40 03 0001 10"), Puback(1, 0x10)),
    Vector("PUBREC with a reason", (5,), BOTH, octets("50 03 0001 97"), Pubrec(1, 0x97)),
    Vector("PUBREL with a reason", (5,), BOTH, octets("62 03 0001 92"), Pubrel(1, 0x92)),
    Vector("PUBCOMP with a reason", (5,), BOTH, octets("70 03 0001 92"), Pubcomp(1, 0x92)),
    Vector(
        "PUBACK with properties",
        (5,),
        BOTH,
        frame("40", "0001 00 05 1f 0002 'no'"),
        Puback(1, 0, properties(why)),
    ),
    Vector(
        "PUBREL with properties",
        (5,),
        BOTH,
        frame("62", "0001 92 06 26 0001 'k' 0000"),
        Pubrel(1, 0x92, properties(user)),
    ),
]

SUBSCRIPTIONS = [
    Vector(
        "SUBSCRIBE to one filter",
        (3, 4),
        CLIENT,
        frame("82", "0001 0003 'a/#' 02"),
        Subscribe(1, [Subscription("a/#", 2)]),
    ),
    Vector(
        "SUBSCRIBE to three filters",
        (3, 4),
        CLIENT,
        frame("82", "000a 0001 '#' 00 0005 '+/b/+' 01 0001 '/' 02"),
        Subscribe(10, [Subscription("#", 0), Subscription("+/b/+", 1), Subscription("/", 2)]),
    ),
    Vector(
        "SUBSCRIBE with every option and an identifier",
        (5,),
        CLIENT,
        frame("82", "0001 03 0b8001 0001 'a' 2e 0001 'b' 11"),
        Subscribe(
            1,
            [Subscription("a", 2, True, True, 2), Subscription("b", 1, False, False, 1)],
            properties(identifier),
        ),
    ),
    Vector(
        "SUBSCRIBE to a shared subscription",
        (5,),
        CLIENT,
        frame("82", "0001 00 000c '$share/g/a/#' 00"),
        Subscribe(1, [Subscription("$share/g/a/#", 0)]),
    ),
    Vector(
        "SUBACK",
        (3, 4),
        SERVER,
        frame("90", "0001 00 01 02 80"),
        Suback(1, [0, 1, 2, 0x80]),
    ),
    Vector(
        "SUBACK of MQTT 5.0",
        (5,),
        SERVER,
        frame("90", "0001 05 1f 0002 'no' 02 9e"),
        Suback(1, [2, 0x9E], properties(why)),
    ),
    Vector(
        "UNSUBSCRIBE",
        (3, 4),
        CLIENT,
        frame("a2", "0001 0001 'a' 0003 'b/#'"),
        Unsubscribe(1, ["a", "b/#"]),
    ),
    Vector(
        "UNSUBSCRIBE of MQTT 5.0",
        (5,),
        CLIENT,
        frame("a2", "0001 06 26 0001 'k' 0000 0001 'a'"),
        Unsubscribe(1, ["a"], properties(user)),
    ),
    Vector("UNSUBACK", (3, 4), SERVER, octets("b0 02 0001"), Unsuback(1, [])),
    Vector(
        "UNSUBACK of MQTT 5.0", (5,), SERVER, frame("b0", "0001 00 00 11"), Unsuback(1, [0, 0x11])
    ),
]

CONTROL = [
    Vector("PINGREQ", (3, 4, 5), CLIENT, octets("c0 00"), Pingreq()),
    Vector("PINGRESP", (3, 4, 5), SERVER, octets("d0 00"), Pingresp()),
    Vector("DISCONNECT", (3, 4), CLIENT, octets("e0 00"), Disconnect()),
    Vector("DISCONNECT without a reason", (5,), BOTH, octets("e0 00"), Disconnect()),
    Vector("DISCONNECT with will", (5,), CLIENT, octets("e0 01 04"), Disconnect(0x04)),
    Vector("DISCONNECT by takeover", (5,), SERVER, octets("e0 01 8e"), Disconnect(0x8E)),
    Vector(
        "DISCONNECT with properties",
        (5,),
        BOTH,
        frame("e0", "00 05 1f 0002 'no'"),
        Disconnect(0, properties(why)),
    ),
    Vector(
        "AUTH that continues",
        (5,),
        BOTH,
        frame("f0", "18 04 15 0001 'M'"),
        Auth(0x18, properties(method)),
    ),
    Vector(
        "AUTH again",
        (5,),
        CLIENT,
        frame("f0", "19 04 15 0001 'M'"),
        Auth(0x19, properties(method)),
    ),
    Vector("AUTH of success", (5,), SERVER, octets("f0 00"), Auth(0)),
]

VECTORS = [
    *CONNECTS,
    *CONNACKS,
    *PUBLISHES,
    *ACKNOWLEDGEMENTS,
    *SUBSCRIPTIONS,
    *CONTROL,
]
