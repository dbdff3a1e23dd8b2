"""The order in which files and folders become durable. No file is ever half replaced."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.process.files.disk_errors import line_of
from gateway.process.files.durable import (
    Rights,
    fsync_file,
    fsync_folder,
    make_folder,
    move_durably,
    replace_durably,
    replace_keeping_owner,
    write_all,
)


class Steps:
    """Records each fsync and rename.

    Raises `error` in place of the step `cut_at`, as if the program ended there.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken: list[tuple[str, ...]] = []
        self.cut_at: int | None = None
        self.error: BaseException = KeyboardInterrupt()
        self._root = root
        self._fsync, self._rename = os.fsync, Path.rename
        monkeypatch.setattr(os, "fsync", self.fsync)

        # A plain function, because a bound method would not receive the path.
        def rename(source: Path, destination: Path) -> Path:
            return self.rename(source, destination)

        monkeypatch.setattr(Path, "rename", rename)

    def fsync(self, descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        self._take("fsync", path)
        self._fsync(descriptor)

    def rename(self, source: Path, destination: Path) -> Path:
        self._take("rename", source, destination)
        return self._rename(source, destination)

    def _take(self, kind: str, *paths: Path) -> None:
        if self.cut_at == len(self.taken):
            raise self.error
        self.taken.append((kind, *(str(path.relative_to(self._root)) for path in paths)))


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Steps]:
    with monkeypatch.context() as patched:
        yield Steps(tmp_path, patched)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "kept"
    path.write_bytes(b"old")
    return path


@pytest.fixture
def partial(tmp_path: Path) -> Path:
    return tmp_path / "kept.partial"


def test_a_file_is_fsynced_before_it_takes_its_place_and_the_folder_behind_it(
    path: Path, partial: Path, steps: Steps
) -> None:
    replace_durably(path, b"new", partial=partial)
    assert steps.taken == [
        ("fsync", "kept.partial"),
        ("rename", "kept.partial", "kept"),
        ("fsync", "."),
    ]
    assert path.read_bytes() == b"new"
    assert not partial.exists()


@pytest.mark.parametrize("cut_at", [0, 1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_replacement_that_fails_leaves_the_old_or_the_new_file_and_nothing_beside_it(
    path: Path, partial: Path, steps: Steps, cut_at: int, error: BaseException
) -> None:
    steps.cut_at, steps.error = cut_at, error
    with pytest.raises(type(error)):
        replace_durably(path, b"new", partial=partial)
    assert path.read_bytes() == (b"new" if cut_at == 2 else b"old")
    assert os.listdir(path.parent) == ["kept"]


def test_a_file_that_was_not_there_is_made(tmp_path: Path, partial: Path) -> None:
    replace_durably(tmp_path / "first", b"new", partial=partial)
    assert (tmp_path / "first").read_bytes() == b"new"


def test_what_an_earlier_attempt_left_is_overwritten_whole(path: Path, partial: Path) -> None:
    partial.write_bytes(b"longer than what comes")
    replace_durably(path, b"new", partial=partial)
    assert path.read_bytes() == b"new"


def test_where_the_partial_file_has_to_be_new_another_ones_is_refused_and_stays(
    path: Path, partial: Path
) -> None:
    partial.write_bytes(b"another user's")
    with pytest.raises(FileExistsError):
        replace_durably(path, b"new", partial=partial, is_new=True)
    assert path.read_bytes() == b"old"
    assert partial.read_bytes() == b"another user's"


@pytest.mark.parametrize("is_new", [False, True])
def test_a_link_in_place_of_the_partial_file_is_not_written_through(
    path: Path, partial: Path, is_new: bool
) -> None:
    partial.symlink_to(path)
    with pytest.raises(OSError, match=r"is a link|exists"):
        replace_durably(path, b"new", partial=partial, is_new=is_new)
    assert path.read_bytes() == b"old"


def test_modes_are_0640_unless_others_are_asked_for(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        replace_durably(tmp_path / "plain", b"", partial=tmp_path / "partial")
        replace_durably(
            tmp_path / "secret", b"", partial=tmp_path / "partial", rights=Rights(0o600)
        )
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "plain").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_an_owner_is_set_before_the_file_takes_its_place(path: Path, partial: Path) -> None:
    replace_durably(path, b"new", partial=partial, rights=Rights(owner=(65_534, 65_533)))
    assert (path.stat().st_uid, path.stat().st_gid) == (65_534, 65_533)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_root_replaces_stays_the_services_file(path: Path) -> None:
    os.chown(path, 65_534, 65_533)
    path.chmod(0o600)
    replace_keeping_owner(path, b"new", 0o600)
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (65_534, 65_533, 0o600)
    assert path.read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_root_replaces_stays_readable_by_its_group_only(path: Path) -> None:
    os.chown(path, 0, 65_533)
    path.chmod(0o666)
    replace_keeping_owner(path, b"new", 0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_move_between_folders_is_durable_in_the_new_one_first(
    path: Path, tmp_path: Path, steps: Steps
) -> None:
    (tmp_path / "other").mkdir()
    move_durably(path, tmp_path / "other" / "kept")
    assert steps.taken == [("rename", "kept", "other/kept"), ("fsync", "other"), ("fsync", ".")]
    assert (tmp_path / "other" / "kept").read_bytes() == b"old"


def test_a_new_folder_is_durable_in_its_parent_and_one_that_is_there_costs_no_fsync(
    tmp_path: Path, steps: Steps
) -> None:
    make_folder(tmp_path / "made")
    assert steps.taken == [("fsync", ".")]
    make_folder(tmp_path / "made")
    assert steps.taken == [("fsync", ".")]
    with pytest.raises(FileNotFoundError):
        make_folder(tmp_path / "none" / "made")


def test_a_folder_and_a_file_are_fsynced_and_no_descriptor_stays_open(
    path: Path, steps: Steps
) -> None:
    before = os.listdir("/proc/self/fd")
    fsync_folder(path.parent)
    fsync_file(path)
    assert steps.taken == [("fsync", "."), ("fsync", "kept")]
    assert os.listdir("/proc/self/fd") == before
    with pytest.raises(NotADirectoryError):
        fsync_folder(path)


def test_every_byte_is_written_where_a_write_takes_only_a_part(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    with path.open("wb", buffering=0) as file, monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
        write_all(file.fileno(), b"0123456789")
    assert path.read_bytes() == b"0123456789"


def test_a_file_that_cannot_be_written_is_named_and_not_its_partial_version(
    tmp_path: Path,
) -> None:
    path = tmp_path / "missing" / "passwords"
    with pytest.raises(FileNotFoundError) as failed:
        replace_keeping_owner(path, b"x", 0o600)
    assert failed.value.filename == str(path)


def test_a_file_for_which_the_disk_has_no_room_is_named(
    path: Path, partial: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left") as caught:
        replace_durably(path, b"new", partial=partial)
    assert line_of(caught.value) == f"{path}: No space left on device"
    assert not partial.exists()
