"""Compares a backup with this machine, to find out which files a restore would write, and where."""

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gateway.process.files.private import open_private
from gateway.tools.backup.archive import SLICE_BYTES, ArchiveReader
from gateway.tools.backup.data_names import is_data, is_identity, is_set_aside
from gateway.tools.backup.manifest import BackupRefused, Manifest, Member, Part

State = Literal["new", "same", "replaces"]


@dataclass(frozen=True, slots=True)
class Places:
    """The target of a restore: the configuration file and the data directory on this machine."""

    configuration: Path
    """The path of the configuration file."""
    data_dir: Path


@dataclass(frozen=True, slots=True)
class Step:
    """One file to restore: a member of the backup, with its path and its state on this machine.

    The state is "new", "same" or "replaces".
    """

    member: Member
    base: Path
    """The folder that `path` is relative to."""
    path: str
    state: State

    @property
    def target(self) -> Path:
        """The path to which the file is restored on this machine."""
        return self.base / self.path


@dataclass(frozen=True, slots=True)
class Plan:
    """The planned restore of one backup.

    `steps` contains the files to restore. `elsewhere` contains the other files. They are not
    restored, because on the original machine they were outside both the data directory and the
    folder of the configuration file.
    """

    manifest: Manifest
    places: Places
    steps: tuple[Step, ...]
    elsewhere: tuple[Member, ...]

    @property
    def has_data(self) -> bool:
        """True if the restore replaces all of the gateway's data (messages and events)."""
        return any(step.member.part == "data" for step in self.steps)

    @property
    def writes(self) -> tuple[Step, ...]:
        """The steps that write a file.

        An unchanged file is written only if `is_staged` is True for its step.
        """
        return tuple(step for step in self.steps if step.state != "same" or self.is_staged(step))

    def is_staged(self, step: Step) -> bool:
        """Return True if the step's file belongs to the data, and the restore replaces all data.

        The existing file is then moved away with the old data. Therefore the restore must write the
        file, even if its contents are unchanged.
        """
        return self.has_data and step.member.place == "data" and is_set_aside(step.path)


def checked(file: Path) -> Manifest:
    """Read a whole backup, and return its manifest.

    Raises:
        BackupRefused: if the file is damaged, or is not a backup that this version can read.
        OSError: if the file cannot be read.
    """
    with file.open("rb") as opened:
        try:
            reader = ArchiveReader(opened)
            for _, slices in reader.members():
                for _ in slices:
                    pass
        except BackupRefused as refused:
            raise BackupRefused(f"{file}: {refused}") from None
    return reader.manifest


def plan_of(manifest: Manifest, places: Places, parts: Collection[Part]) -> Plan:
    """Plan a restore: compare the chosen parts of a backup with the files on this machine.

    Raises:
        BackupRefused: if a file outside the parts `identity` and `data` would replace the gateway's
            identity or data.
        OSError: if a file on this machine cannot be read.
    """
    chosen = [member for member in manifest.members if member.part in parts]
    return Plan(
        manifest,
        places,
        tuple(_steps_of(chosen, manifest, places)),
        tuple(member for member in chosen if member.place == "elsewhere"),
    )


def _steps_of(chosen: list[Member], manifest: Manifest, places: Places) -> Iterator[Step]:
    for member in chosen:
        if member.place == "elsewhere":
            continue
        base, path = places.data_dir.absolute(), member.path
        if member.place == "configuration":
            base = places.configuration.absolute().parent
            if path == manifest.configuration:
                path = places.configuration.name
        _refuse_disguise(member, base / path, places.data_dir)
        yield Step(member, base, path, _state_of(base / path, member))


def _refuse_disguise(member: Member, target: Path, data_dir: Path) -> None:
    """Raise BackupRefused if a member would replace a file that it must not replace.

    Only members of the parts `identity` and `data` may replace the gateway's identity and data.
    """
    inside = target.parent.resolve() / target.name
    if member.part in ("identity", "data") or not inside.is_relative_to(data_dir.resolve()):
        return
    path = inside.relative_to(data_dir.resolve()).as_posix()
    if is_data(path) or is_identity(path):
        raise BackupRefused(f"{member.name!a} would replace data of the gateway, {target}")


def _state_of(target: Path, member: Member) -> State:
    try:
        descriptor = open_private(target, 0)
    except FileNotFoundError:
        return "new"
    except OSError:
        return "replaces"  # a link, a folder, or a file that cannot be read
    digest = hashlib.sha256()
    with open(descriptor, "rb") as opened:
        while chunk := opened.read(SLICE_BYTES):
            digest.update(chunk)
    return "same" if digest.hexdigest() == member.sha256 else "replaces"
