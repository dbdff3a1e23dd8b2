"""`oncegate uplink`: its settings come from the configuration, and its passwords from files."""

from pathlib import Path

import pytest

from gateway.cli.application import execute
from gateway.cli.common.failures import EXIT_CONFIGURATION, EXIT_FAILED, EXIT_OK, CommandFailed
from gateway.cli.services.prepared import PreparedUplink
from gateway.cli.services.uplink import mistakes_in_files_of, own_id_of, uplink_settings_of
from gateway.configuration import Configuration, load
from gateway.process.mqtt_client.tls import TlsFiles
from gateway.uplink.routes import Side
from gateway.uplink.settings import SESSION_NEVER_EXPIRES

FILE = """
[gateway]
id = "gw-1"
data_dir = "DATA"
[uplink]
address = "up.example:8883"
protocol = 4
username = "u"
password_file = "DATA/password"
local_username = "l"
local_password_file = "DATA/password"
tls = {}
queue_max = "1MiB"
window = 7
session_expiry = "7d"
[[uplink.topics]]
filter = "sensors/#"
qos = 1
remote_prefix = "site/"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "password").write_text("secret\n")
    (tmp_path / "password").chmod(0o600)
    file = tmp_path / "gateway.toml"
    file.write_text(FILE.replace("DATA", str(tmp_path)))
    return file


def configured(file: Path) -> Configuration:
    return load(file, {}, {}, None)


def test_every_key_reaches_the_settings(file: Path) -> None:
    settings = uplink_settings_of(configured(file), "gw-1")
    remote, local = settings.remote, settings.local
    assert (remote.host, remote.port, remote.version) == ("up.example", 8883, 4)
    assert remote.client_id == "oncegate-gw-1"
    assert (remote.username, remote.password) == ("u", "secret")
    assert remote.tls == TlsFiles()
    assert remote.session_expiry_seconds == 604_800
    assert (local.host, local.port, local.version) == ("127.0.0.1", 1883, 5)
    assert (local.username, local.password) == ("l", "secret")
    assert local.session_expiry_seconds == SESSION_NEVER_EXPIRES
    assert (settings.window, settings.queue_bytes_max) == (7, 1 << 20)
    (route,) = settings.routes
    assert (route.filter_at(Side.REMOTE), route.qos) == ("site/sensors/#", 1)


def test_a_password_that_others_can_read_is_refused_with_the_fix(file: Path) -> None:
    (file.parent / "password").chmod(0o604)
    with pytest.raises(CommandFailed, match=r"\[uplink\] local_password_file: .*Run chmod 600"):
        uplink_settings_of(configured(file), "gw-1")


def test_the_verb_prepares_a_service(file: Path) -> None:
    service = execute(["uplink", "--config", str(file), "--quiet"])
    assert isinstance(service, PreparedUplink)
    assert (service.settings.gateway_id, service.quiet) == ("gw-1", True)


@pytest.mark.parametrize(
    ("options", "exit_code"), [([], EXIT_CONFIGURATION), (["--check"], EXIT_FAILED)]
)
def test_without_an_address_there_is_no_uplink(
    tmp_path: Path, options: list[str], exit_code: int
) -> None:
    with pytest.raises(CommandFailed, match=r"no \[uplink\] address") as failed:
        execute(["uplink", "--data-dir", str(tmp_path), *options])
    assert failed.value.exit_code == exit_code


def test_a_look_finds_one_and_starts_nothing(file: Path) -> None:
    assert execute(["uplink", "--config", str(file), "--check"]) == EXIT_OK


def test_files_that_cannot_be_used_are_named_before_a_start(file: Path, tmp_path: Path) -> None:
    assert list(mistakes_in_files_of(configured(file))) == []
    file.write_text(file.read_text().replace("tls = {}", f'tls = {{ca = "{tmp_path}/no.pem"}}'))
    assert "no.pem" in next(mistakes_in_files_of(configured(file)))
    (tmp_path / "password").unlink()
    assert "[uplink]" in next(mistakes_in_files_of(configured(file)))
    assert list(mistakes_in_files_of(load(None, {}, {}, None))) == []


def test_the_id_is_the_files_of_the_broker_where_systemd_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    credential = tmp_path / "gateway-id"
    credential.write_text("from-the-broker\n")
    elsewhere = load(None, {}, {"gateway.data_dir": str(tmp_path / "d")}, None)
    assert own_id_of(elsewhere) == "from-the-broker"
    assert own_id_of(configured(file)) == "gw-1", "the file's own key counts more"
    credential.write_text("?")
    made = own_id_of(elsewhere)
    assert made == own_id_of(elsewhere)
    assert (tmp_path / "d" / "gateway-id").exists()
