"""`oncegate bridge`: its settings come from the configuration, and its password from a file."""

import socket
from pathlib import Path

import pytest
from firmware_bridge.protocols.dlms import Dlms
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.cli.application import execute
from gateway.cli.common.failures import EXIT_CONFIGURATION, CommandFailed
from gateway.cli.services.bridge import PASSWORD_BYTES_MAX, bridge_settings_of, password_of
from gateway.cli.services.prepared import PreparedBridge, PreparedIdle
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


def test_the_data_directory_of_the_command_line_counts(tmp_path: Path) -> None:
    service = execute(["bridge", "--data-dir", str(tmp_path), "--verbose"])
    assert isinstance(service, PreparedBridge)
    assert service.settings.data_dir == tmp_path
    assert (service.verbose, service.quiet) == (True, False)


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
    ("content", "reason"), [(None, "No such file or directory"), (b"\xff\n", "is not UTF-8")]
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


@pytest.mark.parametrize(
    ("own", "topic"),
    [("", "gateway/cellar-7/availability"), ('availability_topic = "a/b"\n', "a/b")],
)
def test_with_home_assistant_states_have_a_topic_outside_the_sensors(
    tmp_path: Path, own: str, topic: str
) -> None:
    file = tmp_path / "gateway.toml"
    keys = f'[gateway]\nid = "cellar-7"\n[bridge]\n{own}'
    file.write_text(f'{keys}home_assistant_prefix = "homeassistant"\n')
    service = execute(["bridge", "--config", str(file)])
    assert isinstance(service, PreparedBridge)
    assert service.settings.availability_topic == topic
    file.write_text(keys)
    service = execute(["bridge", "--config", str(file)])
    assert isinstance(service, PreparedBridge)
    assert service.settings.availability_topic == (topic if own else None)


def test_a_bridge_that_has_no_port_and_no_listener_has_nothing_to_do(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text("[[listeners]]\nprotocol = 'websocket'\n")
    assert isinstance(execute(["bridge", "--config", str(file)]), PreparedIdle)


@pytest.mark.parametrize(
    ("api", "url"),
    [
        ("", None),
        ("bind = '192.0.2.7'\nallow_anonymous_network = true\n", "http://192.0.2.7:8080/"),
        ("bind = '2001:db8::7'\nallow_anonymous_network = true\n", "http://[2001:db8::7]:8080/"),
        (
            "bind = '0.0.0.0'\nallow_anonymous_network = true\n",
            f"http://{socket.gethostname()}.local:8080/",
        ),
    ],
)
def test_home_assistant_is_given_the_page_where_the_network_reaches_it(
    tmp_path: Path, api: str, url: str | None
) -> None:
    file = tmp_path / "gateway.toml"
    head = "[gateway]\nid = 'cellar-7'\n[bridge]\nhome_assistant_prefix = 'homeassistant'\n"
    file.write_text(f"{head}[api]\n{api}")
    service = execute(["bridge", "--config", str(file)])
    assert isinstance(service, PreparedBridge)
    assert service.settings.page_url == url
    assert service.settings.problem_topic == "gateway/cellar-7/problem"
