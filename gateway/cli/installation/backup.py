"""`oncegate backup`: stores configuration, users, identity and optionally data in one file."""

import contextlib
import datetime
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final

import typer

from gateway.cli.common.failures import CommandFailed, say
from gateway.cli.common.options import ConfigOption, DataDirOption, JsonOption, configuration_of
from gateway.cli.common.output import counted, show
from gateway.process.files.disk_errors import line_of

if TYPE_CHECKING:
    from gateway.configuration import Configuration
    from gateway.tools.backup.manifest import Manifest
    from gateway.tools.backup.sources import Sources

STANDARD_OUTPUT: Final = "-"
ENDING: Final = ".oncegate-backup.tar.gz"
SECRETS: Final = (
    "It contains secrets: passwords' hashes, private keys, tokens of uploads. Keep it where only "
    "you can read it."
)
_MODE: Final = 0o600

FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help=f"New file, or a folder for GATEWAY-DATE{ENDING}, or - for stdout."
    ),
]
DataOption = Annotated[
    bool,
    typer.Option(
        "--data", help="Include messages, readings and events. The gateway must be stopped."
    ),
]


def backup(
    file: FileArgument,
    data: DataOption = False,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Back up the gateway into one file: configuration, users and identity.

    The file contains gateway.toml and conf.d/, the files that they name
    (passwords, rules, tokens, certificates and keys), and the gateway's id and
    signing key. The gateway may keep running.

    The file contains secrets and has mode 0600. On a device, run this as root.

    With --data the file also contains the sessions, messages, readings and
    events. The gateway must be stopped first, so that the data is consistent:
    systemctl stop oncegate.target

    Examples:

        sudo oncegate backup /media/stick

        oncegate backup gateway.tar.gz --data --data-dir ./var

        ssh pi sudo oncegate backup - > gateway.tar.gz
    """
    configuration = configuration_of(config, gateway__data_dir=data_dir)
    _back_up(configuration, file, with_data=data, as_json=as_json)


def _back_up(configuration: "Configuration", file: Path, *, with_data: bool, as_json: bool) -> None:
    """Write the backup and print what it contains. Raises CommandFailed if it cannot be written."""
    from gateway.tools.backup.manifest import BackupRefused
    from gateway.tools.backup.running import StillRunning, all_stopped

    stopped = all_stopped(configuration.gateway.data_dir) if with_data else contextlib.nullcontext()
    try:
        with stopped:
            sources, excluded = _collected(configuration, with_data=with_data)
            manifest = _manifest_of(configuration, sources, with_data=with_data)
            place = _write(file, manifest, sources)
    except (BackupRefused, StillRunning) as refused:
        raise CommandFailed(f"oncegate backup: {refused}") from None
    except OSError as error:
        raise CommandFailed(f"oncegate backup: {line_of(error)}{_as_root(error)}") from None
    for path in excluded:
        say(f"# Left out: {path}, which is made at each start. Back up the file it comes from.")
    if place is None:
        return
    show(_document_of(place, manifest), lambda _: _text_of(place, manifest), as_json=as_json)


def _collected(
    configuration: "Configuration", *, with_data: bool
) -> tuple["Sources", tuple[Path, ...]]:
    from gateway.cli.installation.backup_files import files_of
    from gateway.tools.backup.sources import Sources

    found = files_of(configuration)
    file = None if configuration.file is None else Path(configuration.file).absolute()
    sources = Sources(None if file is None else file.parent, configuration.gateway.data_dir)
    sources.add_named(found.named)
    sources.add_identity()
    if with_data:
        sources.add_data()
    if not sources.members:
        raise CommandFailed(
            "oncegate backup: there is nothing to back up: no configuration file, and no gateway "
            f"in {configuration.gateway.data_dir}; name them with --config and --data-dir"
        )
    return sources, found.excluded


def _manifest_of(
    configuration: "Configuration", sources: "Sources", *, with_data: bool
) -> "Manifest":
    from gateway.cli.installation.backup_files import formats_of_data, gateway_of
    from gateway.cli.installation.version import version_text
    from gateway.tools.backup.manifest import Manifest

    now = datetime.datetime.now(datetime.UTC)
    return Manifest(
        version=version_text(),
        made=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        gateway=gateway_of(configuration),
        configuration=None if configuration.file is None else Path(configuration.file).name,
        data_dir=str(configuration.gateway.data_dir.absolute()),
        formats=formats_of_data() if with_data else {},
        members=sources.members,
    )


def _write(file: Path, manifest: "Manifest", sources: "Sources") -> Path | None:
    """Write the backup. Return its path, or None if it was written to standard output.

    Raises CommandFailed if `file` exists, or its directory does not.
    """
    from gateway.tools.backup.archive import write_archive

    if str(file) == STANDARD_OUTPUT:
        if sys.stdout.isatty():
            raise CommandFailed(
                "oncegate backup: a backup cannot be shown on a terminal: add > FILE"
            )
        write_archive(sys.stdout.buffer, manifest, sources.content_of)
        sys.stdout.buffer.flush()
        return None
    if file.is_dir():
        file /= f"{manifest.gateway or 'gateway'}-{manifest.made[:10]}{ENDING}"
    if not file.absolute().parent.is_dir():
        raise CommandFailed(
            f"oncegate backup: {file}: {file.parent} is not a directory: create it, or name "
            "another file"
        )
    if file.exists():
        raise CommandFailed(f"oncegate backup: {file} exists: choose another name, or remove it")
    with _replacing(file) as output:
        write_archive(output, manifest, sources.content_of)
    return file


@contextlib.contextmanager
def _replacing(file: Path) -> Iterator[BinaryIO]:
    """Yield a new temporary file. When the context ends, sync the file and rename it to `file`.

    If an exception is raised, the temporary file is removed.
    """
    from gateway.process.files.durable import move_durably
    from gateway.process.files.private import open_private

    partial = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = open_private(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
    try:
        with os.fdopen(descriptor, "wb") as output:
            yield output
            output.flush()
            os.fsync(descriptor)
        move_durably(partial, file)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _as_root(error: OSError) -> str:
    if isinstance(error, PermissionError) and os.geteuid() != 0:
        return ": only root can read all files of an installed gateway: sudo oncegate backup"
    return ""


def _document_of(place: Path, manifest: "Manifest") -> dict[str, Any]:
    return {
        "file": str(place),
        "bytes": place.stat().st_size,
        "gateway": manifest.gateway,
        "made": manifest.made,
        "data": manifest.has_data,
        "files": [
            {"name": each.name, "part": each.part, "path": each.original, "bytes": each.size}
            for each in manifest.members
            if each.part != "data"
        ],
        "data_files": sum(each.part == "data" for each in manifest.members),
    }


def _text_of(place: Path, manifest: "Manifest") -> str:
    files = [each for each in manifest.members if each.part != "data"]
    lines = [f"{place}: backup of {manifest.gateway or 'a gateway without an id'}"]
    lines += [f"  {each.part:13} {each.original}" for each in files]
    data = [each.size for each in manifest.members if each.part == "data"]
    if data:
        lines.append(f"  {'data':13} {counted(len(data), 'file')}, {sum(data):,} bytes")
    elif manifest.formats:  # --data was given
        lines.append(f"  no data: {manifest.data_dir} has none; --data-dir names another directory")
    else:
        lines.append("  no data: messages, readings and events are left out; --data adds them")
    return "\n".join([*lines, SECRETS])
