"""An open port: its line, its one reader, its losses."""

import termios
from typing import Any

import pytest
from firmware_bridge.protocols.board_frame import acknowledgement_of
from firmware_bridge.readings.numbering import BoardIdentity
from firmware_bridge.serial.link import PortLost, SerialLink

from gateway.keys.serial_line import Line
from tests.bridge.terminal import Terminal


def test_a_port_has_one_reader(terminal: Terminal) -> None:
    link = SerialLink(str(terminal.link), Line())
    with pytest.raises(PortLost, match="used by another program"):
        SerialLink(str(terminal.link), Line())
    link.close()
    SerialLink(str(terminal.link), Line()).close()


@pytest.mark.parametrize(
    ("line", "flags"),
    [
        (Line(), termios.CS8),
        (Line(9600, 7, "E", 1), termios.CS7 | termios.PARENB),
        (Line(4800, 7, "O", 2), termios.CS7 | termios.PARENB | termios.PARODD
         | termios.CSTOPB),
        (Line(19200, 8, "N", 2), termios.CS8 | termios.CSTOPB),
    ],
    ids=["115200 8N1", "9600 7E1", "4800 7O2", "19200 8N2"],
)  # fmt: skip
def test_the_line_is_set_as_configured(
    line: Line, flags: int, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_attributes = termios.tcsetattr
    asked: list[int] = []

    def observed(descriptor: int, when: int, attributes: Any) -> None:
        asked.append(attributes[2])
        set_attributes(descriptor, when, attributes)

    monkeypatch.setattr(termios, "tcsetattr", observed)
    link = SerialLink(str(terminal.link), line)
    _, _, control, _, input_speed, output_speed, _ = terminal.attributes()
    link.close()
    of_line = termios.CSIZE | termios.PARENB | termios.PARODD | termios.CSTOPB
    assert [each & of_line for each in asked] == [flags]
    # A pseudo-terminal takes rate, stop bits and PARODD, and keeps 8 bits without parity (the
    # kernel's pty_set_termios), so that the rest shows only in what was asked of it.
    taken = termios.PARODD | termios.CSTOPB
    assert control & taken == flags & taken
    speed = getattr(termios, f"B{line.baud_rate}")
    assert (input_speed, output_speed) == (speed, speed)


def test_an_acknowledgement_that_cannot_be_written_is_no_error(terminal: Terminal) -> None:
    link = SerialLink(str(terminal.link), Line())
    acknowledgement = acknowledgement_of(BoardIdentity(42, 1, 1))
    while link.write(acknowledgement):
        pass
    link.close()
    assert not link.write(acknowledgement)
