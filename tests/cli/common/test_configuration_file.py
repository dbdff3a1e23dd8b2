"""The choice of the configuration file."""

from pathlib import Path

import pytest

from gateway.cli.common import configuration_file
from gateway.cli.common.configuration_file import file_of, read_configuration
from gateway.configuration import ConfigurationError


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of an installation's file, which does not exist yet.

    No environment variable names another file.
    """
    monkeypatch.delenv("ONCEGATE_CONFIG", raising=False)
    path = tmp_path / "installed.toml"
    monkeypatch.setattr(configuration_file, "INSTALLED_FILE", path)
    return path


def test_the_option_goes_before_the_variable_and_that_before_the_installed_file(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert file_of(None) is None
    installed.touch()
    assert file_of(None) == installed
    monkeypatch.setenv("ONCEGATE_CONFIG", "named.toml")
    assert file_of(None) == Path("named.toml")
    assert file_of(Path("option.toml")) == Path("option.toml")


def test_an_empty_variable_names_no_file(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONCEGATE_CONFIG", "")
    installed.touch()
    assert file_of(None) == installed


def test_a_file_that_is_named_and_missing_is_refused_and_not_passed_over(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed.touch()
    monkeypatch.setenv("ONCEGATE_CONFIG", "missing.toml")
    with pytest.raises(ConfigurationError, match=r"missing\.toml: cannot be read"):
        read_configuration(None)


def test_overrides_are_named_with_two_underscores_for_the_dot(installed: Path) -> None:
    installed.write_text(
        "[api]\nport = 1\n[[serial]]\nname = 'gps'\npath = '/dev/x'\nframing = 'nmea'\n"
    )
    configuration = read_configuration(None, api__port=8090, gateway__data_dir=None)
    assert configuration.api.port == 8090
    assert configuration.gateway.data_dir == Path("./var")
    assert configuration.serial[0].framing == "nmea", "the bridge's protocols are known"
