"""An open port: its line settings, its only reader, its losses."""

import fcntl
import os
import struct
import termios
from pathlib import Path
from typing import Any

import pytest
from firmware_bridge.protocols.board_frame import acknowledgement_of
from firmware_bridge.readings.numbering import BoardIdentity
from firmware_bridge.serial.link import PortLost, SerialLink

from gateway.process.declarations.serial_line import ControlLine, FlowControl, Line, Rs485
from tests.bridge.terminal import Terminal

TIOCSRS485 = 0x542F


OF_DRIVERS = {
    termios.TIOCGSERIAL,
    termios.TIOCSSERIAL,
    termios.TIOCEXCL,
    termios.TIOCMBIS,
    termios.TIOCMBIC,
    TIOCSRS485,
}
Ioctls = list[tuple[int, bytes]]


@pytest.fixture
def ioctls(monkeypatch: pytest.MonkeyPatch) -> Ioctls:
    """Record the requests for which a driver is needed.

    A pseudo-terminal lacks them, so they succeed here without effect.
    """
    asked: Ioctls = []
    pass_on = fcntl.ioctl

    def observed(descriptor: int, request: int, argument: Any = 0, *rest: Any) -> Any:
        if request in OF_DRIVERS:
            asked.append((request, bytes(argument)))
            return 0
        return pass_on(descriptor, request, argument, *rest)

    monkeypatch.setattr(fcntl, "ioctl", observed)
    return asked


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
    line: Line, flags: int, terminal: Terminal, ioctls: Ioctls, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_attributes = termios.tcsetattr
    asked: list[int] = []

    def observed(descriptor: int, when: int, attributes: Any) -> None:
        asked.append(attributes[2])
        set_attributes(descriptor, when, attributes)

    monkeypatch.setattr(termios, "tcsetattr", observed)
    monkeypatch.setattr(os.path, "realpath", lambda _: "/dev/ttyUSB0")
    link = SerialLink(str(terminal.link), line)
    _, _, control, _, input_speed, output_speed, _ = terminal.attributes()
    link.close()
    of_line = termios.CSIZE | termios.PARENB | termios.PARODD | termios.CSTOPB
    assert [each & of_line for each in asked] == [flags]
    # A pseudo-terminal accepts rate, stop bits and PARODD, and keeps 8 bits without parity (the
    # kernel's pty_set_termios). The other settings show only in the requests.
    taken = termios.PARODD | termios.CSTOPB
    assert control & taken == flags & taken
    speed = getattr(termios, f"B{line.baud_rate}")
    assert (input_speed, output_speed) == (speed, speed)


@pytest.mark.parametrize(
    ("flow_control", "input_flags", "control_flags"),
    [
        ("none", 0, 0),
        ("rts_cts", 0, termios.CRTSCTS),
        ("xon_xoff", termios.IXON | termios.IXOFF, 0),
    ],
)
def test_the_driver_is_asked_for_the_flow_control_of_the_configuration(
    flow_control: FlowControl, input_flags: int, control_flags: int, terminal: Terminal
) -> None:
    link = SerialLink(str(terminal.link), Line(), flow_control=flow_control)
    found = terminal.attributes()
    link.close()
    assert found[0] & (termios.IXON | termios.IXOFF) == input_flags
    assert found[2] & termios.CRTSCTS == control_flags


def test_a_pseudo_terminal_is_opened_again_with_a_parity_that_it_does_not_have(
    terminal: Terminal,
) -> None:
    for _ in range(2):
        SerialLink(str(terminal.link), Line(9600, 7, "E", 1)).close()


@pytest.mark.parametrize("kind", ["file", "directory", "device"])
def test_a_path_that_is_no_serial_port_is_an_error_in_words(tmp_path: Path, kind: str) -> None:
    path = {"file": tmp_path / "file", "directory": tmp_path, "device": Path("/dev/null")}[kind]
    if kind == "file":
        path.write_text("")
    with pytest.raises(PortLost) as lost:
        SerialLink(str(path), Line(9600))
    fix = "`oncegate serial list` prints those that exist"
    assert str(lost.value) == f"{path} is not a serial port; {fix}"


def test_a_driver_that_refuses_the_line_s_settings_is_an_error_in_words(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise termios.error(22, "Invalid argument")

    monkeypatch.setattr(termios, "tcsetattr", refuse)
    with pytest.raises(PortLost, match="does not accept the line settings: Invalid argument"):
        SerialLink(str(terminal.link), Line())


@pytest.mark.parametrize(
    ("rs485", "words"),
    [
        (Rs485(), (0b011, 0, 0)),
        (Rs485("low", 0.001, 0.029), (0b101, 1, 29)),
    ],
)
def test_the_driver_switches_the_direction_of_rs_485_as_configured(
    rs485: Rs485, words: tuple[int, ...], terminal: Terminal, ioctls: Ioctls
) -> None:
    SerialLink(str(terminal.link), Line(), rs485=rs485).close()
    [asked] = [argument for request, argument in ioctls if request == TIOCSRS485]
    assert asked == struct.pack("8I", *words, 0, 0, 0, 0, 0)


def test_a_driver_without_rs_485_is_an_error_that_names_the_key_and_leaves_the_port_free(
    terminal: Terminal,
) -> None:
    with pytest.raises(PortLost, match=r"no RS-485 mode .*; leave rs485 out"):
        SerialLink(str(terminal.link), Line(), rs485=Rs485())
    SerialLink(str(terminal.link), Line()).close()


@pytest.mark.parametrize("wanted", [True, False])
def test_the_driver_is_asked_for_low_latency_where_it_is_wanted(
    wanted: bool, terminal: Terminal, ioctls: Ioctls
) -> None:
    SerialLink(str(terminal.link), Line(), low_latency=wanted).close()
    asked = [argument for request, argument in ioctls if request == termios.TIOCSSERIAL]
    # struct serial_struct: the fifth int has the flags, and 0x2000 is ASYNC_LOW_LATENCY.
    assert [struct.unpack_from("5i", each)[4] for each in asked] == [0x2000] * wanted


@pytest.mark.parametrize(("path", "is_polled"), [("/dev/ttyUSB0", True), ("/dev/pts/7", False)])
def test_a_device_is_opened_exclusively_for_programs_that_take_no_lock_too(
    path: str,
    is_polled: bool,
    terminal: Terminal,
    ioctls: Ioctls,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os.path, "realpath", lambda _: path)
    SerialLink(str(terminal.link), Line()).close()
    assert (termios.TIOCEXCL in [request for request, _ in ioctls]) == is_polled


def test_an_acknowledgement_that_cannot_be_written_is_no_error(terminal: Terminal) -> None:
    link = SerialLink(str(terminal.link), Line())
    acknowledgement = acknowledgement_of(BoardIdentity(42, 1, 1))
    while link.write(acknowledgement):
        pass
    link.close()
    assert not link.write(acknowledgement)


def _lines_asked(ioctls: Ioctls) -> list[tuple[str, int]]:
    """Return in order how DTR (2) and RTS (4) were raised and lowered."""
    names = {termios.TIOCMBIS: "raise", termios.TIOCMBIC: "lower"}
    return [
        (names[request], int.from_bytes(argument, "little"))
        for request, argument in ioctls
        if request in names
    ]


@pytest.mark.parametrize(
    ("dtr", "rts", "asked"),
    [
        ("on", "on", [("raise", 2), ("raise", 4)]),
        ("off", "on", [("lower", 2), ("raise", 4)]),
        ("off", "off", [("lower", 2), ("lower", 4)]),
        ("leave", "off", [("lower", 4)]),
        ("leave", "leave", []),
    ],
)
def test_dtr_and_rts_are_as_configured_and_stay_so_when_the_port_is_closed(
    dtr: ControlLine,
    rts: ControlLine,
    asked: list[tuple[str, int]],
    terminal: Terminal,
    ioctls: Ioctls,
) -> None:
    other = os.open(terminal.link, os.O_RDWR | os.O_NOCTTY)
    attributes = termios.tcgetattr(other)
    attributes[2] |= termios.HUPCL
    termios.tcsetattr(other, termios.TCSANOW, attributes)
    link = SerialLink(str(terminal.link), Line(), control_lines=(dtr, rts))
    assert _lines_asked(ioctls) == asked
    drops = bool(termios.tcgetattr(other)[2] & termios.HUPCL)
    assert drops == ((dtr, rts) == ("on", "on"))
    link.close()
    os.close(other)
