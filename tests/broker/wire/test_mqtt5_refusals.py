"""Packets that MQTT 5.0 calls malformed or a protocol error, each with its statement."""

import re

import pytest

from gateway.broker.wire.decoder import Decoder
from tests.broker.wire.malformed_vectors import MALFORMED
from tests.broker.wire.notation import frame, octets

CASES: list[tuple[str, int, bytes, int]] = [
    # statement, version before the packet (0 if the packet is a CONNECT), bytes, reason code
    ("MQTT5-1.5.4-1", 5, frame("30", "0003 ed a0 80 00"), 0x81),
    ("MQTT5-1.5.4-1", 5, frame("30", "0002 c0 af 00"), 0x81),
    ("MQTT5-1.5.4-2", 5, frame("30", "0001 00 00"), 0x81),
    ("MQTT5-2.1.3-1", 5, octets("c1 00"), 0x81),
    ("MQTT5-2.1.3-1", 5, octets("41 02 0001"), 0x81),
    ("MQTT5-2.2.1-2", 5, frame("32", "0001 'a' 0000 00"), 0x82),
    ("MQTT5-2.2.2-1", 5, frame("30", "0001 'a'"), 0x81),
    ("MQTT5-3.1.0-1", 0, octets("c0 00"), 0x82),
    ("MQTT5-3.1.2-1", 0, frame("10", "0004 'MQXX' 05 02 003c 00 0001 'c'"), 0x84),
    ("MQTT5-3.1.2-2", 0, frame("10", "0004 'MQTT' 06 02 003c 00 0001 'c'"), 0x84),
    ("MQTT5-3.1.2-3", 0, frame("10", "0004 'MQTT' 05 03 003c 00 0001 'c'"), 0x81),
    ("MQTT5-3.1.2-11", 0, frame("10", "0004 'MQTT' 05 0a 003c 00 0001 'c'"), 0x81),
    ("MQTT5-3.1.2-12", 0, frame("10", "0004 'MQTT' 05 1e 003c 00 0001 'c' 00 0001 'w' 0000"), 0x81),
    ("MQTT5-3.1.2-13", 0, frame("10", "0004 'MQTT' 05 22 003c 00 0001 'c'"), 0x81),
    ("MQTT5-3.1.2-16", 0, frame("10", "0004 'MQTT' 05 02 003c 00 0001 'c' 0001 'u'"), 0x81),
    ("MQTT5-3.1.2-17", 0, frame("10", "0004 'MQTT' 05 82 003c 00 0001 'c'"), 0x81),
    ("MQTT5-3.1.2-18", 0, frame("10", "0004 'MQTT' 05 82 003c 00 0001 'c' 0001 'u' 0000"), 0x81),
    ("MQTT5-3.1.2-19", 0, frame("10", "0004 'MQTT' 05 c2 003c 00 0001 'c' 0001 'u'"), 0x81),
    ("MQTT5-3.1.3-1", 0, frame("10", "0004 'MQTT' 05 06 003c 00 0001 'c'"), 0x81),
    ("MQTT5-3.1.3-3", 0, frame("10", "0004 'MQTT' 05 02 003c 00"), 0x81),
    ("MQTT5-3.1.3-4", 0, frame("10", "0004 'MQTT' 05 02 003c 00 0001 ff"), 0x81),
    ("MQTT5-3.1.3-11", 0, frame("10", "0004 'MQTT' 05 06 003c 00 0001 'c' 00 0001 ff 0000"), 0x81),
    ("MQTT5-3.1.3-12", 0, frame("10", "0004 'MQTT' 05 82 003c 00 0001 'c' 0001 ff"), 0x81),
    ("MQTT5-3.3.1-2", 5, frame("38", "0001 'a' 00"), 0x81),
    ("MQTT5-3.3.1-4", 5, frame("36", "0001 'a' 0001 00"), 0x81),
    ("MQTT5-3.3.2-1", 5, frame("30", "0001 ff 00"), 0x81),
    ("MQTT5-3.3.2-2", 5, frame("30", "0001 '+' 00"), 0x82),
    ("MQTT-4.7.0-1", 4, frame("30", "0001 '#'"), 0x82),
    ("MQTT5-4.7.0-1", 5, frame("30", "0001 '#' 00"), 0x82),
    ("MQTT5-3.3.2-13", 5, frame("30", "0001 'a' 04 08 0001 ff"), 0x81),
    ("MQTT5-3.3.2-19", 5, frame("30", "0001 'a' 04 03 0001 ff"), 0x81),
    ("MQTT5-3.6.1-1", 5, octets("60 02 0001"), 0x81),
    ("MQTT5-3.8.1-1", 5, frame("80", "0001 00 0001 'a' 00"), 0x81),
    ("MQTT5-3.8.3-1", 5, frame("82", "0001 00 0001 ff 00"), 0x81),
    ("MQTT5-3.8.3-2", 5, frame("82", "0001 00"), 0x82),
    ("MQTT5-3.10.1-1", 5, frame("a0", "0001 00 0001 'a'"), 0x81),
    ("MQTT5-3.10.2-1", 5, frame("a2", "0001 00 0001 ff"), 0x81),
    ("MQTT5-3.10.2-2", 5, frame("a2", "0001 00"), 0x82),
    ("MQTT5-3.14.1-1", 5, octets("e1 00"), 0x81),
    ("MQTT5-3.14.2-1", 5, octets("e0 01 07"), 0x81),
    ("MQTT5-4.7.3-1", 5, frame("82", "0001 00 0000 00"), 0x82),
    ("MQTT5-4.7.3-2", 5, frame("82", "0001 00 0001 00 00"), 0x81),
    ("MQTT5-4.7.1-1", 5, frame("82", "0001 00 0003 'a#b' 00"), 0x82),
    ("MQTT5-4.7.1-2", 5, frame("82", "0001 00 0002 'a+' 00"), 0x82),
]


@pytest.mark.parametrize(
    ("version", "wire", "code"),
    [
        pytest.param(version, wire, code, id=f"{name} {index}", marks=pytest.mark.statement(name))
        for index, (name, version, wire, code) in enumerate(CASES)
    ],
)
def test_what_the_standard_forbids_is_refused_with_its_reason_code(
    version: int, wire: bytes, code: int
) -> None:
    decoder = Decoder(1_048_576, version) if version else Decoder(1_048_576)
    assert decoder.feed(wire) == []
    assert decoder.error is not None
    assert decoder.error.reason_code == code


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(bad.name, marks=pytest.mark.statement(*found))
        for bad in MALFORMED
        if (found := re.findall(r"MQTT5?-[\d.]+-\d+", bad.name))
    ],
)
def test_a_vector_that_names_a_statement_is_refused(name: str) -> None:
    (bad,) = [bad for bad in MALFORMED if bad.name == name]
    side = "server" if bad.sender == "client" else "client"
    decoder = Decoder(1_048_576, bad.version, side)  # type: ignore[arg-type]
    decoder.feed(bad.wire)
    assert decoder.error is not None
    assert decoder.error.reason_code == bad.reason_code
