"""Surrogates, overlong forms and NUL in every string of every packet, in both directions."""

import pytest

from gateway.broker.wire import kinds
from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.packets import Packet
from tests.broker.wire.marked_strings import RIGHT, STRINGS, WRONG, Marked

every_string = pytest.mark.parametrize(
    "marked", [pytest.param(marked, id=marked.name) for marked in STRINGS]
)


def decoder_of(marked: Marked) -> Decoder:
    if marked.before[0] == kinds.CONNECT << 4:
        return Decoder(1 << 20)
    return Decoder(1 << 20, marked.version, "server" if marked.sender == "client" else "client")


def read_in_one_piece(marked: Marked, wire: bytes) -> tuple[list[Packet], Decoder]:
    decoder = decoder_of(marked)
    return decoder.feed(wire), decoder


@pytest.mark.statement(
    "MQTT-1.5.3-1",
    "MQTT-1.5.3-2",
    "MQTT5-1.5.4-1",
    "MQTT5-1.5.4-2",
    "MQTT5-1.5.7-1",
    "MQTT-3.1.3-4",
    "MQTT-3.1.3-10",
    "MQTT-3.1.3-11",
    "MQTT-3.3.2-1",
    "MQTT-3.8.3-1",
    "MQTT-3.10.3-1",
    "MQTT5-3.1.3-4",
    "MQTT5-3.1.3-11",
    "MQTT5-3.1.3-12",
    "MQTT5-3.3.2-1",
    "MQTT5-3.3.2-13",
    "MQTT5-3.3.2-19",
    "MQTT5-3.8.3-1",
    "MQTT5-3.10.2-1",
)
@every_string
def test_what_is_not_utf_8_is_malformed_wherever_it_stands(marked: Marked) -> None:
    for name, four_bytes in WRONG.items():
        wire = marked.with_string(four_bytes)
        packets, decoder = read_in_one_piece(marked, wire)
        assert packets == [], name
        assert decoder.error is not None, name
        assert (decoder.error.reason, decoder.error.reason_code) == ("string_encoding", 0x81), name
        slowly = decoder_of(marked)
        for index in range(len(wire)):
            slowly.feed(wire[index : index + 1])
        assert slowly.error is not None
        assert slowly.error.detail == decoder.error.detail


@every_string
def test_what_is_utf_8_is_taken_and_not_changed(marked: Marked) -> None:
    for name, four_bytes in RIGHT.items():
        (packet,), decoder = read_in_one_piece(marked, marked.with_string(four_bytes))
        assert decoder.error is None, name
        # If the string was lost or changed, `repr` shows something else.
        assert repr(four_bytes.decode()) in repr(packet), name


def test_a_mark_stands_in_every_kind_of_packet_that_has_strings() -> None:
    kinds = {marked.name.split()[0] for marked in STRINGS}
    assert kinds == {
        *("Connect", "Connack", "Publish", "Puback", "Pubrec", "Pubrel", "Pubcomp"),
        *("Subscribe", "Suback", "Unsubscribe", "Unsuback", "Disconnect", "Auth"),
    }
