"""A changed file has another state, however it was changed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.process.files.file_state import state_of, states_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "looked-at"
    path.write_bytes(b"12345")
    return path


def _append(path: Path) -> None:
    path.write_bytes(b"123456")


def _restrict(path: Path) -> None:
    path.chmod(0o600)


def _backdate(path: Path) -> None:
    os.utime(path, ns=(1, 1))


def _replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"12345")
    other.rename(path)


@pytest.mark.parametrize("change", [_append, _restrict, Path.unlink, _backdate, _replace])
def test_any_change_is_another_state(path: Path, change: Callable[[Path], None]) -> None:
    before = state_of(path)
    change(path)
    assert state_of(path) != before


def test_a_file_that_stays_has_one_state(path: Path) -> None:
    assert state_of(path) == state_of(path) is not None


def test_what_is_not_there_has_none(path: Path, tmp_path: Path) -> None:
    assert states_of([path, tmp_path / "missing"]) == (state_of(path), None)
