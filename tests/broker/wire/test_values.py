"""Behaviour that all packets share: comparison and representation."""

import pytest

from gateway.broker.wire.packets import Puback, Publish, Pubrec
from gateway.broker.wire.values import topic_field_of


def test_a_long_payload_is_shown_by_its_beginning_and_size() -> None:
    shown = repr(Publish("a", b"x" * 1000, 0, False, False, 0))
    assert len(shown) < 200
    assert "(1000 bytes)" in shown


def test_packets_of_different_kinds_are_never_equal() -> None:
    assert Puback(1) != Pubrec(1)
    assert Puback(1) != "PUBACK"
    assert Puback(1) != Puback(1, 0x10)


def test_a_topic_field_has_the_length_in_bytes_before_it() -> None:
    assert topic_field_of("\u00e9/") == b"\x00\x03\xc3\xa9/"
    assert topic_field_of("x" * 65_535)[:3] == b"\xff\xffx"
    with pytest.raises(AssertionError, match="at most 65535"):
        topic_field_of("x" * 65_536)
