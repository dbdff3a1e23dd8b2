"""Every mistake is one line with the source, the key, the value and the allowed values."""

from pathlib import Path

import pytest
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration import ConfigurationError, load
from tests.configuration.refused import PORT, REFUSED

REGISTER = "{name='a', at=0"
OTHER_NAMES = [
    ("[[serial]]\nname = 'a'\npath = 'x'\nport = '/dev/x'", "port is not", 'did you mean "path"?'),
    (f"{PORT}'nmea'\nhost = '192.0.2.1'", "host is not a key", 'did you mean "address"?'),
    ("[[listeners]]\nhost = '0.0.0.0'", "host is not a key", 'did you mean "bind"?'),
    ("[[listeners]]\nallow_anonymous = true", "allow_anonymous is", 'did you mean "anonymous"?'),
    ("[bridge]\nhost = '192.0.2.1'", "[bridge] host is not a key", 'did you mean "broker"?'),
    (
        f"{PORT}'modbus'\ndevices = [{{name='b', address=1, slave=1, registers=[{REGISTER}}}]}}]",
        "devices.0.slave is not a key",
        'did you mean "address"?',
    ),
    (
        f"{PORT}'modbus'\ndevices = [{{name='b', address=1, registers=[{REGISTER}, address=0}}]}}]",
        "registers.0.address is not a key",
        'did you mean "at"?',
    ),
    (
        f"{PORT}'modbus'\ndevices = [{{name='b',address=1, registers=[{REGISTER}, function=4}}]}}]",
        "registers.0.function is not a key",
        'did you mean "kind"?',
    ),
]
"""Keys with the names that other programs give them."""


@pytest.mark.parametrize(
    ("content", "what", "allowed"),
    [*REFUSED, *OTHER_NAMES],
    ids=[row[0] for row in (*REFUSED, *OTHER_NAMES)],
)
def test_a_mistake_in_the_file_is_one_line(
    tmp_path: Path, content: str, what: str, allowed: str
) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(content)
    with pytest.raises(ConfigurationError) as refusal:
        load(file, {}, {}, PROTOCOLS)
    (line,) = refusal.value.problems
    assert line.startswith(f"{file}: ")
    assert what in line
    assert allowed in line
    assert "\n" not in line


def test_all_mistakes_are_reported_together(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text("[mqtt]\nmax_inflight = -1\nx = 1\n[api]\nport = 'y'\n")
    with pytest.raises(ConfigurationError) as refusal:
        load(file, {}, {}, PROTOCOLS)
    assert len(refusal.value.problems) == 3


def test_what_may_be_a_secret_is_not_repeated() -> None:
    with pytest.raises(ConfigurationError) as refusal:
        load(None, {"ONCEGATE_UPLOAD_TARGET": "ftp://user:hunter2@host/"}, {}, None)
    assert "hunter2" not in str(refusal.value)
