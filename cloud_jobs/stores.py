"""Directories and S3 object stores without Spark and Java: what `unchanged` asks of them.

An object store is reached with the settings that Spark would have (spark.hadoop.fs.s3a.*), through
Arrow. Where one of them is not known here there is no store, and Spark looks.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlsplit

from cloud_jobs.limits import STORE_SECONDS_MAX
from cloud_jobs.places import local_directory

if TYPE_CHECKING:
    from pyarrow.fs import S3FileSystem

_COMMIT: Final = re.compile(r"[0-9]{20}\.json", re.ASCII)
_S3A: Final = "spark.hadoop.fs.s3a."
_ELSEWHERE: Final = ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT")
"""Variables of a Spark whose settings are not known in this process."""
_CHECKSUM: Final = "AWS_REQUEST_CHECKSUM_CALCULATION"
_OPTIONS: Final = {
    "access.key": "access_key",
    "secret.key": "secret_key",
    "session.token": "session_token",
    "endpoint": "endpoint_override",
    "endpoint.region": "region",
}
"""Hadoop's names and Arrow's."""
_SPEED: Final = re.compile(
    r"(attempts|retry|threads|connection\.(maximum|timeout|establish)|fast\.upload|block\.size"
    r"|multipart|readahead|performance|experimental|paging|max\.total\.tasks)\b"
)
"""Settings that change how fast an answer comes, and not what it is."""


@dataclass(frozen=True, slots=True)
class LocalStore:
    """A directory of this machine."""

    root: Path

    @property
    def name(self) -> str:
        """The place, however it was written."""
        return str(self.root.absolute())

    def files(self) -> list[str] | None:
        """Return all files as paths relative to the root; None where Spark would see others."""
        found: list[str] = []
        for folder, folders, files in os.walk(self.root, onerror=_raise):
            # Spark goes into them, `os.walk` does not.
            if any(os.path.islink(os.path.join(folder, name)) for name in folders):
                return None
            found += (os.path.relpath(os.path.join(folder, name), self.root) for name in files)
        return found

    def read(self, path: str, bytes_max: int) -> tuple[int, bytes]:
        """Return a file's size and its bytes: at most so many and one. Raises OSError."""
        with (self.root / path).open("rb") as file:
            return os.fstat(file.fileno()).st_size, file.read(bytes_max + 1)

    def write(self, path: str, content: bytes) -> None:
        """Replace a file as a whole. Raises OSError."""
        part = self.root / f"{path}.part"
        part.write_bytes(content)
        part.replace(self.root / path)

    def remove(self, path: str) -> None:
        """Remove a file, if it is there. Raises OSError."""
        (self.root / path).unlink(missing_ok=True)

    def commits(self) -> dict[str, str]:
        """Return the newest commit of each table, the name of its file. Raises OSError."""
        found = {}
        for log in self.root.glob("[!_.]*/_delta_log"):
            found[log.parent.name] = _newest(os.listdir(log))
        return found

    def has_commits(self, known: Mapping[str, str]) -> bool:
        """Return whether these are the newest commits of all tables. Raises OSError."""
        return self.commits() == known

    def has_begun(self) -> bool:
        """Return whether a batch was begun and not finished. Raises OSError."""
        with contextlib.suppress(FileNotFoundError):
            return bool(os.listdir(self.root / "_staging"))
        return False


@dataclass(frozen=True, slots=True)
class S3Store:
    """A prefix of a bucket."""

    system: S3FileSystem
    root: str

    @property
    def name(self) -> str:
        return f"s3a://{self.root}"

    def files(self) -> list[str] | None:
        return sorted(path for path, is_file in self._below("", recursive=True) if is_file)

    def read(self, path: str, bytes_max: int) -> tuple[int, bytes]:
        with self.system.open_input_file(f"{self.root}/{path}") as file:
            return file.size(), file.read(bytes_max + 1)

    def write(self, path: str, content: bytes) -> None:
        with self.system.open_output_stream(f"{self.root}/{path}") as file:
            file.write(content)

    def remove(self, path: str) -> None:
        # Where it is left it is no danger: whatever a run does is a commit, or a file that landed.
        with contextlib.suppress(OSError):
            self.system.delete_file(f"{self.root}/{path}")

    def commits(self) -> dict[str, str]:
        return {
            table: _newest(path for path, _ in self._below(f"{table}/_delta_log"))
            for table in self._tables()
        }

    def has_commits(self, known: Mapping[str, str]) -> bool:
        """Return whether these are the newest commits; no log is listed, however long it is."""
        if {*self._tables()} != {*known} or not all(map(_COMMIT.fullmatch, known.values())):
            return False
        logs = [f"{self.root}/{table}/_delta_log" for table in known]
        names = known.values()
        there = [f"{log}/{name}" for log, name in zip(logs, names, strict=True)]
        later = [f"{log}/{_after(name)}" for log, name in zip(logs, names, strict=True)]
        found = [info.is_file for info in self.system.get_file_info([*there, *later])]
        return found == [True] * len(there) + [False] * len(later)

    def has_begun(self) -> bool:
        """Return False: a run that begins a batch has removed what the last one wrote."""
        return False

    def _tables(self) -> list[str]:
        return [path for path, is_file in self._below("") if not is_file and path[0] not in "_."]

    def _below(self, folder: str, *, recursive: bool = False) -> Iterator[tuple[str, bool]]:
        """Return paths relative to a folder, and whether each is a file."""
        from pyarrow.fs import FileSelector  # noqa: PLC0415 - not for directories

        base = f"{self.root}/{folder}".rstrip("/")
        for info in self.system.get_file_info(FileSelector(base, recursive=recursive)):
            yield info.path[len(base) + 1 :], info.is_file


Store: TypeAlias = LocalStore | S3Store


def store_of(place: str, environment: Mapping[str, str] | None = None) -> Store | None:
    """Return where a path or URL leads, None where only Spark knows."""
    directory = local_directory(place)
    if directory is not None:
        return LocalStore(directory)
    parts = urlsplit(place)
    variables = os.environ if environment is None else environment
    if parts.scheme != "s3a" or any(name in variables for name in _ELSEWHERE):
        return None
    if not all(map(find_spec, ("pyspark", "pyarrow"))):  # they are set up later
        return None
    options = s3_options(variables)
    if options is None:
        return None
    from pyarrow.fs import S3FileSystem  # noqa: PLC0415 - likewise

    timeouts = {"connect_timeout": STORE_SECONDS_MAX, "request_timeout": STORE_SECONDS_MAX}
    with _plain_uploads():
        system = S3FileSystem(**options, **timeouts)
    return S3Store(system, f"{parts.netloc}{parts.path}".rstrip("/"))


@contextlib.contextmanager
def _plain_uploads() -> Iterator[None]:
    """Have Amazon's SDK send bodies as they are while the block lasts: other stores do not know the
    checksum that it appends. An operator's own choice is kept."""
    if _CHECKSUM in os.environ:
        yield
        return
    os.environ[_CHECKSUM] = "when_required"
    try:
        yield
    finally:
        del os.environ[_CHECKSUM]


def s3_options(variables: Mapping[str, str]) -> dict[str, Any] | None:
    """Return Arrow's options for Hadoop's settings; None where one of them is not known here."""
    from cloud_jobs.spark.outside import set_outside  # noqa: PLC0415 - PySpark, too

    options: dict[str, Any] = {}
    for key, value in set_outside(variables).items():
        name = key.removeprefix(_S3A)
        if name == key or _SPEED.match(name):
            continue
        if name in _OPTIONS:
            options[_OPTIONS[name]] = value
        elif name == "path.style.access":
            options["force_virtual_addressing"] = value != "true"
        elif name == "connection.ssl.enabled":
            options["scheme"] = "http" if value == "false" else "https"
        else:
            return None
    if "endpoint_override" in options:
        options.setdefault("region", "us-east-1")
    return options


def _newest(names: Iterator[str] | list[str]) -> str:
    return max((name for name in names if _COMMIT.fullmatch(name)), default="")


def _after(commit: str) -> str:
    return f"{int(commit.removesuffix('.json')) + 1:020}.json"


def _raise(error: OSError) -> None:
    raise error
