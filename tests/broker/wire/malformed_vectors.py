"""All kinds of malformed packets: their bytes, with the reason and the code to report."""

from gateway.broker.wire import malformed as wrong
from tests.broker.wire.malformed_connects import CONNECT, FIXED_HEADER
from tests.broker.wire.malformed_publishes import PUBLISH
from tests.broker.wire.malformed_vector import bad, bad_from_server
from tests.broker.wire.notation import frame, octets

ACKNOWLEDGEMENTS = [
    bad("PUBACK 0", 4, octets("40 02 0000"), wrong.PACKET_ID_ZERO, 0x82),
    bad("PUBREL 0", 5, octets("62 03 0000 00"), wrong.PACKET_ID_ZERO, 0x82),
    bad("an empty PUBACK", 4, octets("40 00"), wrong.FIELD_TRUNCATED),
    bad("half a PUBREC", 4, octets("50 01 00"), wrong.FIELD_TRUNCATED),
    bad("PUBCOMP of three bytes in 3.1.1", 4, octets("70 03 0001 00"), wrong.TRAILING_BYTES),
    bad("PUBACK with a code of SUBACK", 5, octets("40 03 0001 01"), wrong.REASON_CODE),
    bad("PUBREL with a code of PUBREC", 5, octets("62 03 0001 97"), wrong.REASON_CODE),
    bad("bytes after PUBACK", 5, octets("40 05 0001 00 00 00"), wrong.TRAILING_BYTES),
    bad(
        "PUBACK with an expiry",
        5,
        frame("40", "0001 00 05 0200000001"),
        wrong.PROPERTY_FOREIGN,
        0x82,
    ),
    bad(
        "PUBREC with two reason strings",
        5,
        frame("50", "0001 00 06 1f0000 1f0000"),
        wrong.PROPERTY_DUPLICATE,
        0x82,
    ),
]

SUBSCRIPTIONS = [
    bad("SUBSCRIBE 0", 4, frame("82", "0000 0001 'a' 00"), wrong.PACKET_ID_ZERO, 0x82),
    bad("SUBSCRIBE to nothing [MQTT-3.8.3-3]", 4, frame("82", "0001"), wrong.NO_FILTERS, 0x82),
    bad("SUBSCRIBE to nothing in 5.0", 5, frame("82", "0001 00"), wrong.NO_FILTERS, 0x82),
    bad("no QoS", 4, frame("82", "0001 0001 'a'"), wrong.FIELD_TRUNCATED),
    bad("QoS 3 [MQTT-3.8.3-4]", 4, frame("82", "0001 0001 'a' 03"), wrong.QOS_INVALID),
    bad("reserved bits", 4, frame("82", "0001 0001 'a' 04"), wrong.SUBSCRIPTION_OPTIONS),
    bad(
        "reserved bits in 5.0 [MQTT5-3.8.3-5]",
        5,
        frame("82", "0001 00 0001 'a' 40"),
        wrong.SUBSCRIPTION_OPTIONS,
    ),
    bad(
        "retain handling 3",
        5,
        frame("82", "0001 00 0001 'a' 30"),
        wrong.SUBSCRIPTION_OPTIONS,
        0x82,
    ),
    bad(
        "no local for a shared subscription [MQTT5-3.8.3-4]",
        5,
        frame("82", "0001 00 000a '$share/g/a' 04"),
        wrong.SUBSCRIPTION_OPTIONS,
        0x82,
    ),
    bad("an empty filter", 4, frame("82", "0001 0000 00"), wrong.TOPIC_FILTER, 0x82),
    bad("'#' inside", 4, frame("82", "0001 0005 'a/#/b' 00"), wrong.TOPIC_FILTER, 0x82),
    bad("'#' behind text", 4, frame("82", "0001 0002 'a#' 00"), wrong.TOPIC_FILTER, 0x82),
    bad("'+' behind text", 4, frame("82", "0001 0002 'a+' 00"), wrong.TOPIC_FILTER, 0x82),
    bad("a filter not UTF-8", 4, frame("82", "0001 0001 80 00"), wrong.STRING_ENCODING),
    bad(
        "a share without a filter",
        5,
        frame("82", "0001 00 0008 '$share/g' 00"),
        wrong.TOPIC_FILTER,
        0x82,
    ),
    bad(
        "two subscription identifiers",
        5,
        frame("82", "0001 04 0b01 0b02 0001 'a' 00"),
        wrong.PROPERTY_DUPLICATE,
        0x82,
    ),
    bad(
        "10,001 filters",
        4,
        octets("82 c6b802 0001") + octets("0001 '#' 00") * 10_001,
        wrong.TOO_MANY_ENTRIES,
        0x97,
    ),
    bad("UNSUBSCRIBE 0", 4, frame("a2", "0000 0001 'a'"), wrong.PACKET_ID_ZERO, 0x82),
    bad("UNSUBSCRIBE of nothing [MQTT-3.10.3-2]", 4, frame("a2", "0001"), wrong.NO_FILTERS, 0x82),
    bad("UNSUBSCRIBE cut off", 4, frame("a2", "0001 0002 'a'"), wrong.FIELD_TRUNCATED),
    bad("UNSUBSCRIBE of 'a#'", 4, frame("a2", "0001 0002 'a#'"), wrong.TOPIC_FILTER, 0x82),
    bad_from_server("SUBACK with a strange code", 4, frame("90", "0001 03"), wrong.REASON_CODE),
    bad_from_server("SUBACK without codes", 4, frame("90", "0001"), wrong.FIELD_TRUNCATED),
    bad_from_server("UNSUBACK with a payload", 4, frame("b0", "0001 00"), wrong.TRAILING_BYTES),
    bad_from_server(
        "UNSUBACK without codes in 5.0", 5, frame("b0", "0001 00"), wrong.FIELD_TRUNCATED
    ),
]

CONTROL = [
    bad("PINGREQ with a body", 4, octets("c0 01 00"), wrong.TRAILING_BYTES),
    bad("PINGREQ with a body of two bytes", 4, octets("c0 02 0001"), wrong.TRAILING_BYTES),
    bad("DISCONNECT with a reason in 3.1.1", 4, octets("e0 01 00"), wrong.TRAILING_BYTES),
    bad("DISCONNECT that a server sends", 5, octets("e0 01 8e"), wrong.REASON_CODE),
    bad_from_server("DISCONNECT that a client sends", 5, octets("e0 01 04"), wrong.REASON_CODE),
    bad_from_server(
        "DISCONNECT with session expiry from a server [MQTT5-3.14.2-2]",
        5,
        frame("e0", "00 05 1100000001"),
        wrong.PROPERTY_FOREIGN,
        0x82,
    ),
    bad("AUTH of success from a client", 5, octets("f0 00"), wrong.REASON_CODE),
    bad("AUTH without a method", 5, octets("f0 02 18 00"), wrong.PROPERTY_MISSING, 0x82),
    bad("AUTH with a reason alone", 5, octets("f0 01 18"), wrong.PROPERTY_MISSING, 0x82),
    bad_from_server("CONNACK cut off", 4, octets("20 01 00"), wrong.FIELD_TRUNCATED),
    bad_from_server("CONNACK flags [MQTT5-3.2.2-1]", 4, octets("20 02 0200"), wrong.RESERVED_FLAGS),
    bad_from_server("CONNACK code 6", 4, octets("20 02 0006"), wrong.REASON_CODE),
    bad_from_server(
        "CONNACK that refuses and has a session [MQTT-3.2.2-4]",
        4,
        octets("20 02 0105"),
        wrong.RESERVED_FLAGS,
        0x82,
    ),
    bad_from_server(
        "receive maximum 0",
        5,
        frame("20", "00 00 03 210000"),
        wrong.PROPERTY_VALUE,
        0x82,
    ),
    bad_from_server(
        "maximum packet size 0",
        5,
        frame("20", "00 00 05 2700000000"),
        wrong.PROPERTY_VALUE,
        0x82,
    ),
    bad_from_server(
        "maximum QoS 2",
        5,
        frame("20", "00 00 02 2402"),
        wrong.PROPERTY_VALUE,
        0x82,
    ),
]

MALFORMED = [
    *FIXED_HEADER,
    *CONNECT,
    *PUBLISH,
    *ACKNOWLEDGEMENTS,
    *SUBSCRIPTIONS,
    *CONTROL,
]
