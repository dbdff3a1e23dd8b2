"""The password and TLS files with which our programs log in at a broker."""

from pathlib import Path

import pytest

from gateway.cli.common.broker_login import PASSWORD_BYTES_MAX, password_of
from gateway.cli.common.failures import EXIT_CONFIGURATION, CommandFailed


@pytest.mark.parametrize(
    ("content", "password"),
    [
        (b"secret\n", "secret"),
        (b"secret\r\nsecond line\n", "secret"),
        (b"secret", "secret"),
        (b" a b \n", " a b "),
        (b"", ""),
        ("gr\u00fcn\n".encode(), "gr\u00fcn"),
        (b"x" * PASSWORD_BYTES_MAX + b"\n", "x" * PASSWORD_BYTES_MAX),
    ],
    ids=["line", "two lines", "no end", "spaces", "empty", "utf-8", "longest"],
)
def test_a_password_is_the_first_line_of_its_file(
    tmp_path: Path, content: bytes, password: str
) -> None:
    file = tmp_path / "password"
    file.write_bytes(content)
    file.chmod(0o600)
    assert password_of(file, "--password-file") == password


def test_without_a_password_file_there_is_no_password() -> None:
    assert password_of(None, "--password-file") is None


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "create it, with the secret as"), (b"\xff\n", "is not UTF-8")]
)
def test_a_password_file_that_cannot_be_used_is_a_mistake_of_the_configuration(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content)
        file.chmod(0o600)
    with pytest.raises(CommandFailed) as failure:
        password_of(file, "[bridge] password_file")
    (line,) = failure.value.lines
    assert line.startswith(f"[bridge] password_file: {file}: ")
    assert reason in line
    assert failure.value.exit_code == EXIT_CONFIGURATION
