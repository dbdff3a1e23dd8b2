"""Backups put in place: on this machine, on a new one, over another gateway, and interrupted."""

import os
import shutil
from pathlib import Path

import pytest

from gateway.process.files.private import UNFINISHED_RESTORE, prepare
from gateway.tools.backup import restoring as module
from gateway.tools.backup.manifest import PARTS, BackupRefused, Part
from gateway.tools.backup.plan import Places, checked, plan_of
from gateway.tools.backup.restoring import STAGE, restore
from tests.tools.backup.gateway_files import (
    FILES,
    backup_of,
    contents_in,
    made_in,
    places_in,
)

NOW = 1_764_235_800.0
ENDING = "before-20251127T093000Z"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a backup of a gateway that no longer exists."""
    path = tmp_path / "backup.tar.gz"
    path.write_bytes(backup_of(made_in(tmp_path / "gone")))
    return path


def restored(file: Path, places: Places, *parts: Part) -> str:
    """Restore these parts of a backup, or all of them, and return the suffix of replaced files."""
    return restore(file, plan_of(checked(file), places, parts or PARTS), now=NOW)


def test_a_new_machine_has_everything_of_the_backup(file: Path, tmp_path: Path) -> None:
    root = tmp_path / "new"
    assert restored(file, places_in(root)) == ENDING
    (root / "var" / ENDING).rmdir()
    assert contents_in(root) == FILES
    assert (root / "etc/passwords").stat().st_mode & 0o777 == 0o640
    assert not any(path.name.endswith(".restore") for path in root.rglob("*"))


def test_what_is_replaced_is_kept_beside_it_and_what_is_the_same_is_left(
    file: Path, tmp_path: Path
) -> None:
    places = made_in(tmp_path)
    (tmp_path / "etc/passwords").write_text("ben:hash\n")
    before = (tmp_path / "etc/gateway.toml").stat().st_ino
    restored(file, places, "configuration", "users", "identity")
    assert (tmp_path / "etc/passwords").read_text() == "anna:hash\n"
    assert (tmp_path / f"etc/passwords.{ENDING}").read_text() == "ben:hash\n"
    assert (tmp_path / "etc/gateway.toml").stat().st_ino == before


def test_data_is_replaced_as_a_whole_and_set_aside(file: Path, tmp_path: Path) -> None:
    places = made_in(tmp_path)
    (tmp_path / "var/journal/0002").write_text("newer")
    (tmp_path / "var/broker.lock").write_text("")
    (tmp_path / "var/mine.txt").write_text("mine")
    restored(file, places)
    found = contents_in(tmp_path / "var")
    assert found[f"{ENDING}/journal/0002"] == "newer"
    assert "journal/0002" not in found
    assert found["journal/0001"] == FILES["var/journal/0001"]
    assert found["log/signing-key"] == FILES["var/log/signing-key"]
    assert (found["mine.txt"], found["broker.lock"]) == ("mine", "")
    assert not (tmp_path / "var" / UNFINISHED_RESTORE).exists()


def test_a_file_of_another_name_is_the_configuration_where_it_is_asked_for(
    file: Path, tmp_path: Path
) -> None:
    places = Places(tmp_path / "etc/other.toml", tmp_path / "var")
    restored(file, places, "configuration")
    assert (tmp_path / "etc/other.toml").read_text() == FILES["etc/gateway.toml"]


def test_without_data_no_file_of_it_is_touched(file: Path, tmp_path: Path) -> None:
    places = made_in(tmp_path)
    (tmp_path / "var/broker.db").write_text("newer")
    restored(file, places, "configuration", "users", "identity")
    assert (tmp_path / "var/broker.db").read_text() == "newer"


@pytest.mark.parametrize("step", range(9))
def test_an_interrupted_restore_is_repeated(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    places = made_in(tmp_path)
    (tmp_path / "var/broker.db").write_text("newer")
    put, count = module._put_in_place, iter(range(100))

    def cut(*arguments: object, **options: object) -> None:
        if next(count) == step:
            raise OSError("power cut")
        put(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_put_in_place", cut)
    try:
        restored(file, places)
    except OSError:
        with pytest.raises(OSError, match="repeat `oncegate restore`"):
            prepare(places.data_dir)
    monkeypatch.undo()
    restore(file, plan_of(checked(file), places, PARTS), now=NOW + 60)
    prepare(places.data_dir)
    found = contents_in(tmp_path)
    assert {name: found[name] for name in FILES} == FILES
    assert found[f"var/{ENDING}/broker.db"] == "newer"


def test_nothing_is_replaced_if_it_cannot_all_be_written(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = made_in(tmp_path)
    (tmp_path / "etc/passwords").write_text("ben:hash\n")
    before = contents_in(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "create", full)
    with pytest.raises(OSError, match="No space left"):
        restored(file, places)
    assert contents_in(tmp_path) == before
    prepare(places.data_dir)


def test_a_backup_that_is_another_one_by_now_is_refused(file: Path, tmp_path: Path) -> None:
    places = made_in(tmp_path)
    plan = plan_of(checked(file), places, PARTS)
    (tmp_path / "gone/etc/passwords").write_text("mallory:hash\n")
    file.write_bytes(backup_of(places_in(tmp_path / "gone")))
    with pytest.raises(BackupRefused, match="has changed since it was checked"):
        restore(file, plan, now=NOW)
    assert (tmp_path / "etc/passwords").read_text() == FILES["etc/passwords"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be a service and its operator")
def test_a_link_of_a_service_is_not_followed(file: Path, tmp_path: Path) -> None:
    places = made_in(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(places.data_dir / "log")
    (places.data_dir / "log").symlink_to(outside)
    os.chown(places.data_dir / "log", 65534, 65534, follow_symlinks=False)
    with pytest.raises(OSError, match="is a link or no folder"):
        restored(file, places, "identity")
    assert list(outside.iterdir()) == []
    os.chown(places.data_dir / "log", 0, 0, follow_symlinks=False)
    restored(file, places, "identity")
    assert (outside / "signing-key").read_text() == FILES["var/log/signing-key"]


def test_a_link_in_place_of_a_file_is_replaced_and_not_written_through(
    file: Path, tmp_path: Path
) -> None:
    places = made_in(tmp_path)
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    (tmp_path / "etc/passwords").unlink()
    (tmp_path / "etc/passwords").symlink_to(outside)
    restored(file, places, "users")
    assert outside.read_text() == "untouched"
    assert not (tmp_path / "etc/passwords").is_symlink()
    assert (tmp_path / f"etc/passwords.{ENDING}").is_symlink()
    assert not (tmp_path / "var" / STAGE).exists()
