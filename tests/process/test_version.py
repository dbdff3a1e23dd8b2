"""The version number of the installation."""

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from gateway.process.version import installed_version


def test_the_version_is_that_of_the_package_s_metadata() -> None:
    assert installed_version() == version("oncegate")


def test_the_first_directory_of_the_path_with_metadata_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "oncegate-7.1.0rc2+local.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "none"), str(tmp_path), *sys.path])
    assert installed_version() == "7.1.0rc2+local"


def test_where_no_directory_has_metadata_python_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    known = version("oncegate")
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"{name} {known}")
    monkeypatch.setattr(sys, "path", [])
    assert installed_version() == f"oncegate {known}"
