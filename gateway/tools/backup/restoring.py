"""Restores a backup. All files are first written under temporary names and checked, then renamed.

A file that is replaced is kept next to the new file, with the time in its name. All data is
replaced together, and the old data files are moved to one folder. If a restore is interrupted, no
program of the gateway starts until the restore has been repeated (`gateway.process.files.private`).
"""

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from gateway.process.files.durable import fsync_folder, make_folder
from gateway.process.files.private import UNFINISHED_RESTORE
from gateway.tools.backup.archive import ArchiveReader
from gateway.tools.backup.data_names import folders_in, is_top_of_data
from gateway.tools.backup.folders import Owner, create, exists, folder_of, owner_of
from gateway.tools.backup.manifest import BackupRefused
from gateway.tools.backup.plan import Plan, Step

STAGE: Final = ".restore"
"""Folder in the data directory for data that is not yet in place."""
_HELD: Final = (".lock", ".sock")


def restore(file: Path, plan: Plan, *, now: float | None = None) -> str:
    """Restore the files of a plan.

    Existing files are not deleted, but renamed. Return the suffix that was appended to their names.
    If the plan contains identity or data files, the caller must hold the locks of the data
    directory.

    Raises:
        BackupRefused: if the backup has changed since the plan was made. Nothing was replaced.
        OSError: if a file cannot be written. The call can be repeated.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    suffix = f"before-{stamp}"
    plan.places.configuration.absolute().parent.mkdir(parents=True, exist_ok=True)
    plan.places.data_dir.mkdir(parents=True, exist_ok=True)
    steps = {step.member.name: step for step in plan.writes}
    _stage(file, plan, steps)
    if plan.has_data:
        _set_data_aside(plan.places.data_dir, suffix)
    for step in steps.values():
        _put_in_place(step, suffix, staged=plan.is_staged(step))
    os.sync()
    if plan.has_data:
        shutil.rmtree(plan.places.data_dir / UNFINISHED_RESTORE)
        fsync_folder(plan.places.data_dir)
    return suffix


def _stage(file: Path, plan: Plan, steps: Mapping[str, Step]) -> None:
    """Write each file of the plan under a temporary name.

    If this fails, no existing file has been replaced.
    """
    data_dir = plan.places.data_dir
    if plan.has_data:
        shutil.rmtree(data_dir / STAGE, ignore_errors=True)
        make_folder(data_dir / STAGE)
    with file.open("rb") as opened:
        reader = ArchiveReader(opened)
        if reader.manifest != plan.manifest:
            raise BackupRefused(f"{file}: has changed since it was checked: repeat the command")
        for member, chunks in reader.members():
            step = steps.get(member.name)
            if step is None:
                for _ in chunks:
                    pass
                continue
            owner = _owner_of(step)
            base, path = step.base, _temporary_path(step.path)
            if plan.is_staged(step):
                base, path = data_dir / STAGE, step.path
            with folder_of(base, path, owner) as (folder, name):
                create(folder, name, chunks, mode=member.mode, owner=owner)


def _set_data_aside(data_dir: Path, name: str) -> None:
    """Move the gateway's current data to a new folder `name` in the data directory.

    If the move is interrupted, the restore must be repeated.
    """
    unfinished = data_dir / UNFINISHED_RESTORE
    shutil.rmtree(unfinished, ignore_errors=True)
    (data_dir / STAGE).rename(unfinished)
    fsync_folder(data_dir)
    (data_dir / name).mkdir()
    for folder in folders_in(data_dir):
        aside = data_dir / name / folder
        for entry in _data_at(data_dir / folder):
            aside.mkdir(parents=True, exist_ok=True)
            entry.rename(aside / entry.name)


def _data_at(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if is_top_of_data(entry.name) and not entry.name.endswith(_HELD):
            yield entry


def _put_in_place(step: Step, suffix: str, *, staged: bool) -> None:
    """Rename a restored file from its temporary name to its final name.

    If a file with the final name exists, `suffix` is first appended to the name of the existing
    file.
    """
    source, path = step.base, _temporary_path(step.path)
    if staged:
        source, path = step.base / UNFINISHED_RESTORE, step.path
    with (
        folder_of(source, path) as (source_folder, source_name),
        folder_of(step.base, step.path, _owner_of(step)) as (folder, name),
    ):
        if exists(folder, name):
            os.rename(name, f"{name}.{suffix}", src_dir_fd=folder, dst_dir_fd=folder)
        os.rename(source_name, name, src_dir_fd=source_folder, dst_dir_fd=folder)
        os.fsync(folder)


def _temporary_path(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.restore"


def _owner_of(step: Step) -> Owner:
    return owner_of(step.member.owner, step.member.group)
