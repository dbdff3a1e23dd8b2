"""`oncegate api`: the settings of the page follow from the configuration and the options."""

from pathlib import Path

import pytest

from gateway.cli.application import execute
from gateway.cli.services import PreparedApi


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
