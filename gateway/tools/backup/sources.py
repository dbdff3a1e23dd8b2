"""The files of a gateway that a backup contains, and functions that read them."""

import grp
import hashlib
import os
import pwd
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gateway.process.files.private import open_private
from gateway.tools.backup.archive import SLICE_BYTES
from gateway.tools.backup.data_names import data_in, identity_in, is_data, is_identity
from gateway.tools.backup.manifest import (
    FILE_BYTES_MAX,
    MEMBERS_MAX,
    BackupRefused,
    Member,
    Part,
    Place,
)

_MODES: Final = 0o775
"""Permissions that a backup keeps. Write access for all users is dropped."""


@dataclass(frozen=True, slots=True)
class Named:
    """The configuration file, or a file to which the configuration refers."""

    part: Part
    path: Path


@dataclass(frozen=True, slots=True)
class _Described:
    """Properties of a file that has been read: its `stat` result, size in bytes and SHA-256."""

    status: os.stat_result
    size: int
    sha256: str


@dataclass(slots=True)
class Sources:
    """The files to back up. The methods `add_named`, `add_identity` and `add_data` add files.

    A data file is read twice: `add_data` computes its SHA-256, and `content_of` returns its bytes.
    All other files are small, and their contents are kept in memory.
    """

    configuration_dir: Path | None
    """The folder of the configuration file, or None if there is no file."""
    data_dir: Path
    members: list[Member] = field(default_factory=list)
    _contents: dict[str, bytes] = field(default_factory=dict)
    _files: dict[str, Path] = field(default_factory=dict)

    def add_named(self, files: Sequence[Named]) -> None:
        """Add files to which the configuration refers. A file that is given twice is added once.

        Raises:
            BackupRefused: if a file is missing, too large or not a regular file, or if its name is
                reserved for the gateway's own data.
            OSError: if a file cannot be read.
        """
        known = {member.original for member in self.members}
        for each in files:
            original = str(each.path.absolute())
            if original not in known:
                known.add(original)
                place, path = self._place_of(each.path.absolute())
                if place == "data" and (is_data(path) or is_identity(path)):
                    raise BackupRefused(
                        f"{original}: has a name of the gateway's own data: give it another one"
                    )
                self._add_small(each.part, place, path, each.path)

    def add_identity(self) -> None:
        """Add the files with the gateway's id and keys, if they exist.

        Raises the same exceptions as `add_named`.
        """
        for path in identity_in(self.data_dir):
            self._add_small("identity", "data", path, self.data_dir / path, follow=False)

    def add_data(self) -> None:
        """Add all files of the gateway's data. The gateway's programs must be stopped.

        Raises OSError if a file cannot be read.
        """
        for path in data_in(self.data_dir):
            if len(self.members) > MEMBERS_MAX:
                break  # the manifest reports it
            file = self.data_dir / path
            descriptor = open_private(file, os.O_RDONLY)
            with os.fdopen(descriptor, "rb") as opened:
                digest, size = hashlib.sha256(), 0
                while chunk := opened.read(SLICE_BYTES):
                    digest.update(chunk)
                    size += len(chunk)
                found = os.fstat(opened.fileno())
            described = _Described(found, size, digest.hexdigest())
            member = _member_of(file, described, part="data", place="data", path=path)
            self.members.append(member)
            self._files[member.name] = file

    def content_of(self, member: Member) -> Iterator[bytes]:
        """Yield the bytes of an archive member in pieces.

        Raises OSError if the member's file cannot be read.
        """
        if member.name in self._contents:
            yield self._contents[member.name]
            return
        with os.fdopen(open_private(self._files[member.name], os.O_RDONLY), "rb") as opened:
            while chunk := opened.read(SLICE_BYTES):
                yield chunk

    def _add_small(
        self, part: Part, place: Place, path: str, file: Path, *, follow: bool = True
    ) -> None:
        content, found = _read_small(file, follow=follow)
        digest = hashlib.sha256(content).hexdigest()
        described = _Described(found, len(content), digest)
        member = _member_of(file, described, part=part, place=place, path=path)
        self.members.append(member)
        self._contents[member.name] = content

    def _place_of(self, file: Path) -> tuple[Place, str]:
        """Return the file's place in the backup, and its path within this place.

        The place is `data` for a file in the data directory, `configuration` for a file in the
        folder of the configuration file, and `elsewhere` for all other files. If one of the two
        folders contains the other, files in the inner folder get the place of the inner folder.
        """
        folders: list[tuple[Place, Path]] = [("data", self.data_dir.absolute())]
        if self.configuration_dir is not None:
            folders.append(("configuration", self.configuration_dir.absolute()))
        around = [each for each in folders if file.is_relative_to(each[1])]
        if around:
            place, folder = max(around, key=lambda each: (len(each[1].parts), each[0] != "data"))
            return place, file.relative_to(folder).as_posix()
        number = sum(member.place == "elsewhere" for member in self.members) + 1
        return "elsewhere", f"{number}-{file.name}"


def _read_small(file: Path, *, follow: bool) -> tuple[bytes, os.stat_result]:
    """Return the contents of a small file, and its `stat` result.

    A symbolic link is followed only if the argument `follow` is True.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(file, flags) if follow else open_private(file, flags)
    except FileNotFoundError:
        raise BackupRefused(
            f"{file}: is named in the configuration and missing: `oncegate check-config`"
        ) from None
    with os.fdopen(descriptor, "rb") as opened:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise BackupRefused(f"{file}: is no regular file, and cannot be backed up")
        content = opened.read(FILE_BYTES_MAX + 1)
    if len(content) > FILE_BYTES_MAX:
        raise BackupRefused(
            f"{file}: has more than {FILE_BYTES_MAX:,} bytes: is it the right file?"
        )
    return content, found


def _member_of(file: Path, described: _Described, *, part: Part, place: Place, path: str) -> Member:
    return Member(
        part=part,
        place=place,
        path=path,
        original=str(file.absolute()),
        size=described.size,
        sha256=described.sha256,
        mode=stat.S_IMODE(described.status.st_mode) & _MODES,
        owner=_user_of(described.status.st_uid),
        group=_group_of(described.status.st_gid),
    )


def _user_of(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return ""


def _group_of(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return ""
