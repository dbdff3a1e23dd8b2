"""RFC 2217 as a client: the requested line settings, the data read, and fatal errors."""

import pytest
from firmware_bridge.serial.telnet import SUBNEGOTIATION_BYTES_MAX, NotRfc2217, Telnet

from gateway.process.declarations.serial_line import Line

IAC, DONT, DO, WILL, SB, SE, COM_PORT = 255, 254, 253, 251, 250, 240, 44


def sub(command: int, value: bytes) -> bytes:
    return bytes((IAC, SB, COM_PORT, command)) + value + bytes((IAC, SE))


def set_up(telnet: Telnet) -> bytes:
    """Play the server in the negotiation, and return the line settings that the client requests."""
    telnet.take_replies()
    telnet.feed(bytes((IAC, DO, COM_PORT)))
    asked = telnet.take_replies()
    for command, value in telnet.wanted.items():
        telnet.feed(sub(command + 100, value.to_bytes(4 if command == 1 else 1, "big")))
    assert telnet.is_set_up
    return asked


def test_the_line_is_asked_for_as_the_standard_writes_it() -> None:
    asked = set_up(Telnet(Line(9600, 7, "E", 1), "rts_cts"))
    settings = [(1, b"\x00\x00\x25\x80"), (2, b"\x07"), (3, b"\x03"), (4, b"\x01"), (5, b"\x03")]
    assert asked == b"".join(sub(*each) for each in [*settings, (10, b"\x1e")])


def test_data_are_the_same_however_the_network_cuts_them() -> None:
    written = b"a\xffb\xff\xff" + bytes(range(256))
    sent = Telnet(Line(), "none").escape(written)
    sent = sent[:8] + sub(106, b"\x02") + sub(107, b"\x10") + bytes((IAC, WILL, 1)) + sent[8:]
    for size in (1, 2, 3, 5, len(sent)):
        telnet = Telnet(Line(), "none")
        set_up(telnet)
        pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
        assert b"".join(map(telnet.feed, pieces)) == written
        assert telnet.errors == {"overrun": 1}
        assert telnet.take_replies() == bytes((IAC, DONT, 1))


@pytest.mark.parametrize(
    ("received", "sentence"),
    [
        (bytes((IAC, DONT, COM_PORT)), "refuses RFC 2217"),
        (sub(101, b"\x00\x00\x12\xc0"), "sets the line to 4800, but 115200 was requested"),
        (bytes((IAC, SB)) + b"x" * (SUBNEGOTIATION_BYTES_MAX + 1), "does not end"),
    ],
)
def test_a_server_that_does_otherwise_is_left(received: bytes, sentence: str) -> None:
    with pytest.raises(NotRfc2217, match=sentence):
        Telnet(Line(), "none").feed(received)


def test_another_rate_is_asked_for_and_each_confirmation_is_of_its_own_rate() -> None:
    telnet = Telnet(Line(300, 7, "E", 1), "none")
    set_up(telnet)
    telnet.change_baud_rate(9600)
    telnet.change_baud_rate(9600)
    telnet.change_baud_rate(300)
    assert telnet.take_replies() == sub(1, b"\x00\x00\x25\x80") + sub(1, b"\x00\x00\x01\x2c")
    assert telnet.feed(sub(101, b"\x00\x00\x25\x80") + b"x") == b"x"
    with pytest.raises(NotRfc2217, match="to 9600, but 300"):
        telnet.feed(sub(101, b"\x00\x00\x25\x80"))


def test_a_question_that_is_repeated_is_answered_once() -> None:
    telnet = Telnet(Line(), "none")
    telnet.take_replies()
    telnet.feed(bytes((IAC, DO, 24)) * 10_000)
    assert len(telnet.take_replies()) == 3


def test_a_server_that_wants_no_bytes_now_is_obeyed() -> None:
    telnet = Telnet(Line(), "none")
    telnet.feed(sub(108, b""))
    assert telnet.suspended
    telnet.feed(sub(109, b""))
    assert not telnet.suspended
