"""`oncegate api`: the settings of the page are derived from the configuration and the options."""

import io
from pathlib import Path

import pytest

from api.alarms.conditions.thresholds import Thresholds
from api.login.roles import Role
from gateway.cli.application import execute
from gateway.cli.services.prepared import PreparedApi
from gateway.tools.backup.archive import ArchiveReader
from tests.cli.installation.gateway import gateway_in


def prepared(*options: str) -> PreparedApi:
    service = execute(["api", *options])
    assert isinstance(service, PreparedApi)
    return service


def test_the_page_asks_the_status_socket_of_its_data_directory(tmp_path: Path) -> None:
    settings = prepared("--data-dir", str(tmp_path), "--port", "8090").settings
    assert settings.status_socket == tmp_path / "status.sock"
    assert (settings.bind, settings.port) == ("127.0.0.1", 8090)


def test_the_socket_is_where_the_broker_was_made_to_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONCEGATE_GATEWAY_CONTROL_DIR", str(tmp_path))
    monkeypatch.setenv("ONCEGATE_API_BIND", "::1")
    settings = prepared("--quiet").settings
    assert settings.status_socket == tmp_path / "status.sock"
    assert settings.bind == "::1"


def test_without_users_the_page_stays_on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONCEGATE_API_BIND", "0.0.0.0")  # noqa: S104
    settings = prepared().settings
    assert (settings.bind, settings.bind_unused) == ("127.0.0.1", "0.0.0.0")  # noqa: S104
    monkeypatch.setenv("ONCEGATE_API_ALLOW_ANONYMOUS_NETWORK", "true")
    settings = prepared().settings
    assert (settings.bind, settings.bind_unused) == ("0.0.0.0", None)  # noqa: S104


def test_users_tokens_names_and_the_certificate_are_the_configured_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (
        ("ACCESS_PASSWORD_FILE", "p"),
        ("API_BIND", "0.0.0.0"),  # noqa: S104
        ("API_VIEWERS", '["anna"]'),
        ("API_ADMINISTRATORS", '["carl"]'),
        ("API_HOSTS", '["gateway.example"]'),
        ("API_TOKENS_FILE", "tokens"),
        ("API_TLS", '{ certificate = "c.pem", key = "c.key" }'),
    ):
        monkeypatch.setenv(f"ONCEGATE_{name}", value)
    settings = prepared().settings
    assert (settings.bind, settings.bind_unused) == ("0.0.0.0", None)  # noqa: S104
    assert settings.roles == {"anna": Role.VIEWER, "carl": Role.ADMINISTRATOR}
    assert settings.hosts == ("gateway.example",)
    assert settings.tokens_file == Path("tokens")
    assert settings.certificate is not None
    assert settings.certificate.paths == (Path("c.pem"), Path("c.key"))


def test_the_thresholds_of_alarms_have_one_default(tmp_path: Path) -> None:
    assert prepared("--data-dir", str(tmp_path)).settings.thresholds == Thresholds()


async def test_the_command_for_backups_makes_one_of_this_gateway(tmp_path: Path) -> None:
    config = gateway_in(tmp_path)
    backup = prepared("--config", str(config), "--data-dir", str(tmp_path / "var")).settings.backup
    assert backup is not None
    assert backup.is_possible
    manifest = ArchiveReader(io.BytesIO(await backup.run())).manifest
    assert (manifest.gateway, manifest.has_data) == ("gw-1", False)
    (tmp_path / "etc/users").unlink()
    assert not backup.is_possible


def test_the_page_of_a_tenant_makes_no_backup(tmp_path: Path) -> None:
    config = tmp_path / "gateway.toml"
    config.write_text("[[tenants.acme.listeners]]\nport = 1999\n")
    settings = prepared("--config", str(config), "--tenant", "acme").settings
    assert settings.backup is None
