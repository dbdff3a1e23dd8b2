"""The settings of the bridge come from the configuration, and its secrets from files."""

from pathlib import Path

import pytest
from firmware_bridge.protocols.dlms import Dlms
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.cli.common.failures import CommandFailed
from gateway.cli.services.bridge_settings import bridge_settings_of
from gateway.configuration import load

FILE = """
[gateway]
data_dir = "/srv/gateway"
[mqtt]
max_awaiting_rel = 7
[bridge]
client_id = "cellar"
username = "bridge"
outbox_max = "1MiB"
commit_delay = "20ms"
[[serial]]
name = "gps"
usb = "1546:01a7"
framing = "nmea"
baud_rate = 9600
units = { speed = "m/s" }
"""


def test_every_key_of_the_bridge_reaches_its_settings(tmp_path: Path) -> None:
    file, password = tmp_path / "gateway.toml", tmp_path / "password"
    password.write_text("secret\n")
    password.chmod(0o600)
    password.chmod(0o600)
    file.write_text(FILE.replace("outbox_max", f'password_file = "{password}"\noutbox_max'))
    settings = bridge_settings_of(load(file, {}, {}, PROTOCOLS))
    assert settings.data_dir == Path("/srv/gateway")
    assert settings.control_socket == Path("/srv/gateway/control.sock")
    assert (settings.broker.host, settings.broker.port) == ("127.0.0.1", 1883)
    assert (settings.broker.client_id, settings.broker.username) == ("cellar", "bridge")
    assert settings.broker.password == "secret"  # noqa: S105 - as the file has it
    assert (settings.window, settings.outbox_bytes_max) == (7, 1 << 20)
    assert settings.commit_delay_seconds == 0.02
    (port,) = settings.ports
    assert (port.name, port.path, port.usb, port.framing) == ("gps", None, "1546:01a7", "nmea")
    assert port.line.baud_rate == 9600
    assert port.units == {"speed": "m/s"}


def test_a_password_that_others_can_read_is_refused_with_the_fix(tmp_path: Path) -> None:
    file, password = tmp_path / "gateway.toml", tmp_path / "password"
    password.write_text("secret\n")
    password.chmod(0o600)
    password.chmod(0o644)
    file.write_text(FILE.replace("outbox_max", f'password_file = "{password}"\noutbox_max'))
    with pytest.raises(CommandFailed, match=rf"\[bridge\] password_file: .*chmod 600 {password}"):
        bridge_settings_of(load(file, {}, {}, PROTOCOLS))


METER = """
[[serial]]
name = "meter"
path = "/dev/ttyUSB0"
framing = "dlms"
key_file = "{file}"
"""


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        (
            "00112233445566778899aabbccddeeff\n",
            0o644,
            r'\[\[serial\]\] "meter" key_file: .*chmod 600',
        ),
        ("0011\n", 0o600, "use 32 hexadecimal digits"),
        (None, 0o600, '"meter" key_file: .*No such file'),
    ],
)
def test_the_key_of_a_meter_is_a_secret_in_a_file(
    tmp_path: Path, content: str | None, mode: int, words: str
) -> None:
    file, key = tmp_path / "gateway.toml", tmp_path / "key"
    if content is not None:
        key.write_text(content)
        key.chmod(mode)
    file.write_text(METER.format(file=key))
    with pytest.raises(CommandFailed, match=words):
        bridge_settings_of(load(file, {}, {}, PROTOCOLS))


def test_the_key_of_a_meter_reaches_its_protocol(tmp_path: Path) -> None:
    file, key = tmp_path / "gateway.toml", tmp_path / "key"
    key.write_text("00112233445566778899aabbccddeeff\n")
    key.chmod(0o600)
    file.write_text(METER.format(file=key))
    (port,) = bridge_settings_of(load(file, {}, {}, PROTOCOLS)).ports
    assert isinstance(port.protocol, Dlms)
    assert port.protocol.key == bytes.fromhex("00112233445566778899aabbccddeeff")
    assert str(port.line) == "2400 8E1"
