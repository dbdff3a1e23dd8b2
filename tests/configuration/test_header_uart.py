"""The owner of the UART on a Raspberry Pi's header: the console or sensors."""

from pathlib import Path

import pytest

from gateway.configuration.header_uart import is_header_uart, warning_about


@pytest.mark.parametrize(
    "path", ["/dev/ttyS1", "/dev/ttyAMA0", "/dev/serial0", "/dev/../dev/ttyS1"]
)
def test_each_name_of_the_uart_is_known(path: str) -> None:
    assert is_header_uart(Path(path))


@pytest.mark.parametrize("path", ["/dev/ttyUSB0", "/dev/serial/by-id/usb-x", "ttyS1", None])
def test_no_other_port_is_the_header_s(path: str | None) -> None:
    assert not is_header_uart(None if path is None else Path(path))


def machine(root: Path, *, consoles: str, devices: tuple[str, ...] = ()) -> Path:
    for each in ("sys/class/tty/console", "dev"):
        (root / each).mkdir(parents=True)
    (root / "sys/class/tty/console/active").write_text(consoles + "\n")
    for name in devices:
        (root / "dev" / name).touch()
    return root


def test_a_port_that_is_a_console_of_this_machine_is_warned_about(tmp_path: Path) -> None:
    root = machine(tmp_path, consoles="tty1 ttyAMA0", devices=("ttyAMA0",))
    (root / "dev/serial0").symlink_to("ttyAMA0")
    for path in ("/dev/ttyAMA0", "/dev/serial0"):
        warning = warning_about(Path(path), root=root)
        assert warning is not None
        assert "is this machine's console" in warning
        assert '[console] uart = "sensors"' in warning


def test_where_the_console_is_elsewhere_the_uart_is_a_port_like_others(tmp_path: Path) -> None:
    root = machine(tmp_path, consoles="tty1", devices=("ttyAMA0",))
    assert warning_about(Path("/dev/ttyAMA0"), root=root) is None


def test_on_another_machine_than_the_card_the_warning_is_about_the_card(tmp_path: Path) -> None:
    root = machine(tmp_path, consoles="tty1")
    warning = warning_about(Path("/dev/ttyAMA0"), root=root)
    assert warning is not None
    assert warning.startswith("/dev/ttyAMA0 is the console on the SD card, unless")
    assert warning_about(Path("/dev/ttyUSB7"), root=root) is None
