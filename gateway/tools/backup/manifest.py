"""The manifest of a backup, which describes all files in the archive (docs/formats/backup.md).

The manifest is the first member of the archive. A manifest is read as if an attacker had written
it: every name, number and length is checked before any other part of the backup is read.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final, Literal, cast, get_args

from gateway.tools.backup.data_names import is_data, is_identity

FORMAT: Final = 1
"""The format of the manifest that this version writes. Newer formats are rejected."""
MANIFEST: Final = "manifest.json"
"""Name of the archive's first member, the manifest."""

MEMBERS_MAX: Final = 50_000
"""Maximum number of files in a backup. By default a gateway keeps ten thousand sent segments."""
MANIFEST_BYTES_MAX: Final = 32 << 20
"""Maximum bytes of the manifest: 50,000 segments take 520 bytes each."""
FILE_BYTES_MAX: Final = 16 << 20
"""Maximum bytes of a file that is not data. Such files are kept in memory."""
FILES_BYTES_MAX: Final = 64 << 20
"""Maximum total bytes of all files that are not data. They are kept in memory."""
DATA_FILE_BYTES_MAX: Final = 64 << 30
"""Maximum bytes of a data file. A database with the largest queues takes less."""
DATA_BYTES_MAX: Final = 256 << 30
"""Maximum bytes of all data files together: more than the largest SD card for a gateway."""
PATH_BYTES_MAX: Final = 400
"""Maximum bytes of a path relative to its folder. The path of a segment has up to 270."""
NAME_BYTES_MAX: Final = 200
"""Maximum bytes of the name of a file that is not data. A file that is replaced gets a longer
name."""
TEXT_CHARACTERS_MAX: Final = 1024
"""Maximum characters of any other string in the manifest."""

Part = Literal["configuration", "users", "identity", "data"]
Place = Literal["configuration", "data", "elsewhere"]
PARTS: Final = cast("tuple[Part, ...]", get_args(Part))
PLACES: Final = cast("tuple[Place, ...]", get_args(Place))

_TOO_MANY: Final = (
    f"%d files are too many for a backup of at most {MEMBERS_MAX}: leave out --data, or keep fewer "
    "segments with [upload] sent_keep_files"
)
_SHA256: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_ACCOUNT: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}\$?|", re.ASCII)
_GATEWAY: Final = re.compile(r"[a-z0-9-]{1,64}|", re.ASCII)
_MODE_MAX: Final = 0o777
_OTHERS_WRITE: Final = 0o002


class BackupRefused(Exception):
    """Error raised if a backup cannot be used. The message explains why, and how to fix it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Description of a file in a backup."""

    part: Part
    place: Place
    """The folder that `path` is relative to: the data directory, or the folder of the configuration
    file. For a file elsewhere, `path` is only a number and the file's name."""
    path: str
    original: str
    """The path that the file had when the backup was made. It is shown and never written to."""
    size: int
    """Size of the contents in bytes."""
    sha256: str
    mode: int
    """Permissions, at most 0o777, without write access for all users."""
    owner: str
    """The name of the file's owner, or an empty string if the owner had no name."""
    group: str

    @property
    def name(self) -> str:
        """The member's name in the archive."""
        return f"{self.place}/{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Description of a whole backup: its origin, and its files."""

    version: str
    """The version of Oncegate that made the backup."""
    made: str
    """The time at which the backup was made, in UTC, as in `2026-11-27T09:30:00Z`."""
    gateway: str
    """The gateway's id, or an empty string if it had none."""
    configuration: str | None
    """The name of the configuration file, or None if the backup has no configuration file."""
    data_dir: str
    """The path of the data directory when the backup was made."""
    formats: Mapping[str, int] = field(default_factory=dict)
    """The format number of each kind of data, as in `{"store": 7}`. Empty if the backup contains no
    data."""
    members: Sequence[Member] = ()

    @property
    def has_data(self) -> bool:
        """True if the backup contains the gateway's data (messages and events)."""
        return any(member.part == "data" for member in self.members)

    def text(self) -> str:
        """Return the manifest as JSON.

        Raises:
            BackupRefused: if the backup has more files or bytes than allowed.
        """
        document = {
            "oncegate_backup": FORMAT,
            "version": self.version,
            "made": self.made,
            "gateway": self.gateway,
            "configuration": self.configuration,
            "data_dir": self.data_dir,
            "formats": dict(self.formats),
            "members": [_document_of(member) for member in self.members],
        }
        _check_limits(self.members)
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        if len(text.encode()) > MANIFEST_BYTES_MAX:
            raise BackupRefused(_TOO_MANY % len(self.members))
        return text


def manifest_of(content: bytes) -> Manifest:
    """Parse the manifest in `content`, which is JSON.

    Raises:
        BackupRefused: if the manifest has a newer format or is invalid.
    """
    try:
        document = json.loads(content.decode())
    except (ValueError, RecursionError):
        raise BackupRefused("its manifest is not JSON: it is damaged, or not a backup") from None
    if not isinstance(document, dict) or not _is_number(document.get("oncegate_backup")):
        raise BackupRefused("its manifest is not that of a backup of Oncegate")
    if document["oncegate_backup"] > FORMAT:
        raise BackupRefused(
            f"it has format {document['oncegate_backup']}, and this version reads formats up to "
            f"{FORMAT}: restore it with version {_text_in(document, 'version')} or a newer one"
        )
    members = document.get("members")
    if not isinstance(members, list) or len(members) > MEMBERS_MAX:
        raise BackupRefused(f"its manifest has no list of at most {MEMBERS_MAX:,} members")
    manifest = Manifest(
        version=_text_in(document, "version"),
        made=_text_in(document, "made"),
        gateway=_matching(document, "gateway", _GATEWAY),
        configuration=None
        if document.get("configuration") is None
        else _text_in(document, "configuration"),
        data_dir=_text_in(document, "data_dir"),
        formats=_formats_in(document),
        members=[_member_of(each) for each in members],
    )
    _check_limits(manifest.members)
    _check_names(manifest)
    return manifest


def _document_of(member: Member) -> dict[str, Any]:
    return {
        "part": member.part,
        "place": member.place,
        "path": member.path,
        "original": member.original,
        "bytes": member.size,
        "sha256": member.sha256,
        "mode": f"{member.mode:04o}",
        "owner": member.owner,
        "group": member.group,
    }


def _member_of(document: object) -> Member:
    if not isinstance(document, dict):
        raise BackupRefused("a member in its manifest is no object")
    part, place = document.get("part"), document.get("place")
    if part not in PARTS or place not in PLACES:
        raise BackupRefused("a member in its manifest is of no known part or place")
    path = _text_in(document, "path")
    _check_path(path, is_data=part == "data")
    size, mode = document.get("bytes"), _text_in(document, "mode")
    if not _is_number(size):
        raise BackupRefused(f"{path!a}: its manifest gives it no size")
    if not re.fullmatch(r"0[0-7]{3}", mode) or int(mode, 8) & _OTHERS_WRITE:
        raise BackupRefused(f"{path!a}: mode {mode!a} is not allowed: every user could write it")
    return Member(
        part=part,
        place=place,
        path=path,
        original=_text_in(document, "original"),
        size=cast("int", size),
        sha256=_matching(document, "sha256", _SHA256),
        mode=int(mode, 8) & _MODE_MAX,
        owner=_matching(document, "owner", _ACCOUNT),
        group=_matching(document, "group", _ACCOUNT),
    )


def _check_path(path: str, *, is_data: bool) -> None:
    """Check that a path is relative and stays below its folder. Otherwise raise BackupRefused."""
    parts = path.split("/")
    is_plain = path.isprintable() and "\\" not in path and not {"", ".", ".."} & set(parts)
    if not is_plain or len(path.encode()) > PATH_BYTES_MAX:
        raise BackupRefused(f"{path!a} is not allowed as the path of a member")
    if len(parts[-1].encode()) > NAME_BYTES_MAX and not is_data:
        raise BackupRefused(f"{path!a} has a name of more than {NAME_BYTES_MAX} bytes")


def _check_limits(members: Sequence[Member]) -> None:
    """Check the number and sizes of all files. Raise BackupRefused if a limit is exceeded."""
    if len(members) > MEMBERS_MAX:
        raise BackupRefused(_TOO_MANY % len(members))
    for member in members:
        most = DATA_FILE_BYTES_MAX if member.part == "data" else FILE_BYTES_MAX
        if member.size > most:
            raise BackupRefused(
                f"{member.original}: {member.size:,} bytes are too many for a backup: "
                f"at most {most:,}"
            )
    data = sum(member.size for member in members if member.part == "data")
    files = sum(member.size for member in members if member.part != "data")
    if data > DATA_BYTES_MAX or files > FILES_BYTES_MAX:
        raise BackupRefused(
            f"{data + files:,} bytes are too many for a backup: at most {DATA_BYTES_MAX:,} of data "
            f"and {FILES_BYTES_MAX:,} of other files"
        )


def _check_names(manifest: Manifest) -> None:
    """Check that all names are unique, and that each path is allowed in its part of the backup.

    Raises:
        BackupRefused: if a name occurs twice, if a name is both a file and a folder, or if a path
            does not belong to the part that the manifest states.
    """
    names: set[str] = set()
    folders: set[str] = set()
    for member in manifest.members:
        if member.name in names:
            raise BackupRefused(f"{member.name!a} is in it twice")
        names.add(member.name)
        folders |= {str(each) for each in PurePosixPath(member.name).parents}
        if member.place == "data" and not _is_of_part(member.path, member.part):
            raise BackupRefused(f"{member.name!a} is not a file of the part {member.part}")
        if member.place != "data" and member.part in ("identity", "data"):
            raise BackupRefused(f"{member.name!a} is not in the data directory")
    if names & folders:
        raise BackupRefused(f"{min(names & folders)!a} is both a file and a folder in it")
    main = manifest.configuration
    if main is not None and f"configuration/{main}" not in names:
        raise BackupRefused(f"its configuration file {main!a} is missing")


def _is_of_part(path: str, part: Part) -> bool:
    """Return True if the part `part` of a backup may contain `path` in the data directory."""
    if is_identity(path):
        return part == "identity"
    if is_data(path):
        return part == "data"
    return part in ("configuration", "users")


def _formats_in(document: Mapping[str, Any]) -> dict[str, int]:
    found = document.get("formats", {})
    if not isinstance(found, dict) or not all(_is_number(each) for each in found.values()):
        raise BackupRefused("its manifest has no formats by name")
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _text_in(document: Mapping[str, Any], key: str) -> str:
    found = document.get(key)
    if not isinstance(found, str) or len(found) > TEXT_CHARACTERS_MAX or not found.isprintable():
        raise BackupRefused(f"its manifest has no usable text for {key!a}")
    return found


def _matching(document: Mapping[str, Any], key: str, pattern: re.Pattern[str]) -> str:
    found = _text_in(document, key)
    if not pattern.fullmatch(found):
        raise BackupRefused(f"{found!a} is not allowed for {key!a} in its manifest")
    return found
