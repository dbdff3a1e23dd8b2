"""Sentences about ports that cannot be opened."""

import errno
import termios
from pathlib import Path

import pytest
import serial
from firmware_bridge.serial.port_errors import DENIED, sentence_of


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.EACCES, "x"), f"port: {DENIED}"),
        (OSError(errno.EBUSY, "x"), "port is used by another program; stop it, because"),
        (OSError(errno.ENOENT, "x"), "port: no such port; `oncegate serial list` prints"),
        (OSError(errno.EISDIR, "x"), "port is not a serial port; `oncegate serial list` prints"),
        (termios.error(errno.ENOTTY, "x"), "port is not a serial port; `oncegate serial list`"),
        (termios.error(errno.EINVAL, "bad"), "port does not accept the line settings: bad"),
        (OSError(errno.ECONNREFUSED, "Connect call failed ('::1', 1)"), "Connection refused"),
        (OSError(errno.EIO, "broken"), "broken"),
        (ValueError(), "ValueError"),
    ],
)
def test_an_error_is_a_sentence_with_its_fix(error: Exception, sentence: str) -> None:
    assert sentence_of("port", error).startswith(sentence)


def test_an_error_of_pyserial_has_the_reason_of_the_error_before_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(serial.SerialException) as failure:
        serial.Serial(str(tmp_path / "file"))
    assert "is not a serial port" in sentence_of("port", failure.value)
