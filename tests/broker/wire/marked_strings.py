"""All packets that contain strings, with a unique mark of four letters in each string.

A test replaces one mark by four other bytes, so that all lengths stay the same.
"""

import re
from typing import NamedTuple

from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import (
    Auth,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Properties,
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
    Will,
)
from tests.broker.wire.vector import CLIENT, SERVER, Sender

MARK = re.compile(rb"Mk[0-9]{2}")


class Marked(NamedTuple):
    """One string in one packet: the packet's bytes before and after the mark, and the sender."""

    name: str
    version: int
    sender: Sender
    before: bytes
    behind: bytes

    def with_string(self, four_bytes: bytes) -> bytes:
        """Return the packet with these four bytes in place of the mark."""
        assert len(four_bytes) == 4
        return self.before + four_bytes + self.behind


class _Marks:
    def __init__(self) -> None:
        self._count = 0

    def next(self) -> str:
        self._count += 1
        return f"Mk{self._count:02d}"

    def properties(self, *names: str) -> Properties:
        made = Properties()
        for name in names:
            setattr(made, name, self.next())
        made.user_properties = [(self.next(), self.next()), (self.next(), self.next())]
        return made


def _connect(version: int) -> Connect:
    marks = _Marks()
    is_5 = version == 5
    left = marks.properties("content_type", "response_topic") if is_5 else None
    asked = marks.properties("authentication_method") if is_5 else None
    will = Will(marks.next(), b"gone", 1, False, left)
    return Connect(version, marks.next(), True, 60, will, marks.next(), b"secret", asked)


def _packets_of_5() -> list[tuple[Sender, Packet]]:
    answers = (Puback, Pubrec, Pubrel, Pubcomp)
    reason = "reason_string"
    either: list[Packet] = [make(1, 0, _Marks().properties(reason)) for make in answers]
    either += [
        Publish(
            "Mk99", b"x", 1, False, False, 1, _Marks().properties("content_type", "response_topic")
        ),
        Auth(0x18, _Marks().properties("authentication_method", reason)),
    ]
    packets: list[tuple[Sender, Packet]] = [
        (sender, packet) for sender in (*CLIENT, *SERVER) for packet in either
    ]
    wanted = [Subscription("Mk98", 1), Subscription("Mk99", 1)]
    connack = ("assigned_client_identifier", reason, "response_information", "server_reference")
    return [
        *packets,
        ("client", Subscribe(1, wanted, _Marks().properties())),
        ("client", Unsubscribe(1, ["Mk98", "Mk99"], _Marks().properties())),
        ("client", Disconnect(0, _Marks().properties(reason))),
        ("server", Connack(False, 0, _Marks().properties(*connack, "authentication_method"))),
        ("server", Suback(1, [0], _Marks().properties(reason))),
        ("server", Unsuback(1, [0], _Marks().properties(reason))),
        ("server", Disconnect(0, _Marks().properties(reason, "server_reference"))),
    ]


def _all_packets() -> list[tuple[int, Sender, Packet]]:
    packets: list[tuple[int, Sender, Packet]] = [(5, *each) for each in _packets_of_5()]
    for version in (3, 4, 5):
        packets.append((version, "client", _connect(version)))
    for version in (3, 4):
        packets += [
            (version, "client", Publish("Mk01", b"x", 1, False, False, 1)),
            (version, "server", Publish("Mk01", b"x", 1, False, False, 1)),
            (version, "client", Subscribe(1, [Subscription("Mk01", 1), Subscription("Mk02", 1)])),
            (version, "client", Unsubscribe(1, ["Mk01", "Mk02"])),
        ]
    return packets


def _strings_of(version: int, sender: Sender, packet: Packet) -> list[Marked]:
    wire = encode(packet, version)
    found = list(MARK.finditer(wire))
    assert found, packet
    return [
        Marked(
            f"{type(packet).__name__} {mark.group().decode()}, {version}, {sender}",
            version,
            sender,
            wire[: mark.start()],
            wire[mark.end() :],
        )
        for mark in found
    ]


STRINGS = [marked for each in _all_packets() for marked in _strings_of(*each)]

WRONG = {
    "a surrogate": b"a\xed\xa0\x80",
    "the last surrogate": b"a\xed\xbf\xbf",
    "'/' in two bytes": b"aa\xc0\xaf",
    "NUL in two bytes": b"aa\xc0\x80",
    "'/' in three bytes": b"a\xe0\x80\xaf",
    "'/' in four bytes": b"\xf0\x80\x80\xaf",
    "U+0000": b"ab\x00c",
    "U+0000 at the end": b"abc\x00",
    "above U+10FFFF": b"\xf4\x90\x80\x80",
    "a continuation alone": b"ab\x80c",
    "a character cut off": b"ab\xe2\x82",
    "a byte that is never UTF-8": b"ab\xffc",
}
"""Bytes that no UTF-8 string may contain (MQTT 5.0 section 1.5.4), padded to four bytes."""

RIGHT = {
    "a byte order mark": b"\xef\xbb\xbfa",
    "U+FFFF": b"a\xef\xbf\xbf",
    "U+D7FF, before the surrogates": b"a\xed\x9f\xbf",
    "U+E000, behind them": b"a\xee\x80\x80",
    "U+10FFFF": b"\xf4\x8f\xbf\xbf",
    "a control character": b"ab\x01c",
}
"""Unusual bytes that a UTF-8 string may contain, padded to four bytes."""
