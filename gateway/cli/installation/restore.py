"""`oncegate restore`: checks a backup, shows which files it would replace, and restores them."""

import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from gateway.cli.common.configuration_file import INSTALLED_FILE, file_of
from gateway.cli.common.failures import EXIT_USAGE, CommandFailed
from gateway.cli.common.options import ConfigOption, DataDirOption, JsonOption, configuration_of
from gateway.cli.common.output import counted, show
from gateway.process.files.disk_errors import line_of

if TYPE_CHECKING:
    from gateway.tools.backup.manifest import Manifest, Part
    from gateway.tools.backup.plan import Places, Plan

NEXT: Final = "Next: oncegate check-config, then systemctl restart oncegate.target"

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="File written by `oncegate backup`.")
]
YesOption = Annotated[
    bool,
    typer.Option(
        "--yes", help="Restore the files. Without --yes, only show what would be replaced."
    ),
]
DataOption = Annotated[
    bool,
    typer.Option(
        "--data", help="Also restore the data. The present data of this machine is set aside."
    ),
]
IdentityOption = Annotated[
    bool | None,
    typer.Option(
        "--identity/--no-identity",
        help="Become the gateway of the backup, or keep the id and keys of this gateway.",
    ),
]


def restore(
    file: FileArgument,
    yes: YesOption = False,
    data: DataOption = False,
    identity: IdentityOption = None,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Restore a backup: check it, show what it replaces, and with --yes replace it.

    Files are written only into the folder of the configuration file and into
    the data directory. A replaced file is kept next to the new one, as
    NAME.before-TIME. If you are root, owners and modes are restored too.

    To restore a backup of another gateway, use --identity to take that
    gateway's place, or --no-identity to use only its configuration and users.
    Two gateways with the same identity must never run.

    --data also restores messages, readings and events, as they were at the time
    of the backup. Messages delivered since then are delivered again, and
    messages received since then are missing. Identity and data can be restored
    only if the gateway is stopped: systemctl stop oncegate.target

    Examples:

        sudo oncegate restore gw-0a1b2c3d-2026-11-27.oncegate-backup.tar.gz

        sudo oncegate restore gateway.tar.gz --yes

        sudo oncegate restore old.tar.gz --identity --data --yes
    """
    places, own = _this_machine(config, data_dir)
    plan, ending = _restored(file, places, own, is_sure=yes, data=data, identity=identity)
    show(_document_of(plan, ending), lambda _: _text_of(file, plan, ending), as_json=as_json)


def _restored(
    file: Path,
    places: "Places",
    own: str,
    *,
    is_sure: bool,
    data: bool,
    identity: bool | None,
) -> tuple["Plan", str | None]:
    """Plan a restore, and perform it if the argument `is_sure` is True.

    `places` are the paths on this machine, and `own` is the id of this machine's gateway.
    Return the plan, and the suffix that is appended to the names of replaced files. The suffix is
    None if the restore was not performed. Raises CommandFailed if the backup cannot be restored.
    """
    from gateway.tools.backup.manifest import BackupRefused
    from gateway.tools.backup.plan import checked, plan_of
    from gateway.tools.backup.running import StillRunning

    try:
        manifest = checked(file)
        parts = _parts_of(manifest, own, data=data, identity=identity)
        plan = plan_of(manifest, places, parts)
        return plan, _perform(file, plan) if is_sure else None
    except (BackupRefused, StillRunning) as refused:
        raise CommandFailed(f"oncegate restore: {refused}") from None
    except OSError as error:
        raise CommandFailed(f"oncegate restore: {line_of(error)}") from None


def _this_machine(config: Path | None, data_dir: Path | None) -> tuple["Places", str]:
    """Return the paths of this machine's configuration and data, and the id of its gateway.

    These paths are never taken from the backup. Raises CommandFailed if the configuration is
    invalid and no data directory is given.
    """
    from gateway.cli.installation.backup_files import gateway_of
    from gateway.configuration.identity import known_id
    from gateway.tools.backup.plan import Places

    file = file_of(config) or INSTALLED_FILE
    if data_dir is not None and not file.exists():
        return Places(file, data_dir), known_id(data_dir)
    try:
        present = configuration_of(file if file.exists() else None, gateway__data_dir=data_dir)
    except CommandFailed as failure:
        if data_dir is not None:
            return Places(file, data_dir), known_id(data_dir)
        raise CommandFailed(
            [*failure.lines, "oncegate restore: name the data directory with --data-dir"],
            exit_code=EXIT_USAGE,
        ) from None
    return Places(file, present.gateway.data_dir), gateway_of(present)


def _parts_of(
    manifest: "Manifest", own: str, *, data: bool, identity: bool | None
) -> frozenset["Part"]:
    """Return the parts of the backup to restore. `own` is the id of this machine's gateway.

    Raises CommandFailed if the options contradict the backup or each other.
    """
    parts: set[Part] = {"configuration", "users"}
    is_other = bool(own) and own != manifest.gateway
    has_identity = any(member.part == "identity" for member in manifest.members)
    if is_other and has_identity and identity is None:
        raise CommandFailed(
            f"oncegate restore: the backup is of gateway {manifest.gateway or 'without an id'}, "
            f"and this is {own}: add --identity to replace it, if it never runs again, or "
            "--no-identity to restore only its configuration and users"
        )
    if identity is not False:
        parts.add("identity")
    if not data:
        return frozenset(parts)
    if not manifest.has_data:
        raise CommandFailed("oncegate restore: the backup has no data: leave out --data")
    if identity is False:
        raise CommandFailed(
            "oncegate restore: the data belongs to its gateway: leave out --no-identity, or --data",
            exit_code=EXIT_USAGE,
        )
    _refuse_other_formats(manifest)
    parts.add("data")
    return frozenset(parts)


def _refuse_other_formats(manifest: "Manifest") -> None:
    """Raise CommandFailed if this version cannot read the data in a backup."""
    from gateway.cli.installation.backup_files import formats_of_data
    from gateway.process.version import installed_version

    for name, known in formats_of_data().items():
        found = manifest.formats.get(name, 0)
        # Outbox and uplink convert older formats. The broker reads only one.
        if found <= known and (name != "store" or found in {0, known}):
            continue
        writer = _version_number_in(manifest.version)
        if found > known and writer > _version_number_in(installed_version()):
            number = ".".join(map(str, writer))
            fix = f"install oncegate {number} or a newer version first, or leave out --data"
        else:
            fix = (
                "a development version before 0.1.0 wrote it, and no release reads it: leave out "
                "--data, to restore only the other files"
            )
        formats = "format" if name == "store" else "formats up to"
        raise CommandFailed(
            f"oncegate restore: its data has {name} format {found}, and this version reads "
            f"{formats} {known}: {fix}"
        )


def _version_number_in(text: str) -> tuple[int, ...]:
    """Return the first version number in a text: `(0, 1, 0)` for `oncegate 0.1.0 (commit ...)`."""
    found = re.search(r"[0-9]+(?:\.[0-9]+)+", text)
    return () if found is None else tuple(int(each) for each in found[0].split("."))


def _perform(file: Path, plan: "Plan") -> str:
    """Restore the files. Return the suffix that is appended to the names of replaced files."""
    from gateway.tools.backup.restoring import restore as restore_files
    from gateway.tools.backup.running import all_stopped

    needs_stop = any(step.member.part in ("identity", "data") for step in plan.writes)
    held = all_stopped(plan.places.data_dir) if needs_stop else contextlib.nullcontext()
    with held:
        return restore_files(file, plan)


def _document_of(plan: "Plan", ending: str | None) -> dict[str, Any]:
    return {
        "gateway": plan.manifest.gateway,
        "made": plan.manifest.made,
        "version": plan.manifest.version,
        "restored": ending is not None,
        "kept_as": ending,
        "files": [
            {"path": str(step.target), "part": step.member.part, "state": step.state}
            for step in plan.steps
            if step.member.part != "data"
        ],
        "data_files": sum(step.member.part == "data" for step in plan.steps),
        "left_out": [{"name": member.name, "path": member.original} for member in plan.elsewhere],
    }


def _text_of(file: Path, plan: "Plan", ending: str | None) -> str:
    manifest = plan.manifest
    whose = manifest.gateway or "a gateway without an id"
    lines = [
        f"{file}: backup of {whose}, {manifest.made}, by {manifest.version}",
        *(f"  {step.state:9} {step.target}" for step in plan.steps if step.member.part != "data"),
        *_data_lines(plan),
        *_manual_commands(file, plan),
        *_account_lines(plan),
        *_data_dir_lines(plan),
    ]
    if ending is None:
        lines.append("Nothing was written. To restore the backup, add --yes")
    else:
        lines += [f"Restored. What was replaced is kept as NAME.{ending}", NEXT]
    return "\n".join(lines)


def _data_lines(plan: "Plan") -> Iterator[str]:
    data = [step.member.size for step in plan.steps if step.member.part == "data"]
    if data:
        yield (
            f"  data      {counted(len(data), 'file')}, {sum(data):,} bytes, replacing all "
            f"data in {plan.places.data_dir}"
        )
    elif plan.manifest.has_data:
        yield "  data      is left out: --data restores it"


def _manual_commands(file: Path, plan: "Plan") -> Iterator[str]:
    """Yield a shell command for each file that must be restored by hand."""
    for member in plan.elsewhere:
        yield (
            f"  by hand   tar -xzOf {shlex.quote(str(file))} {shlex.quote(member.name)} > "
            f"{shlex.quote(member.original)}"
        )


def _account_lines(plan: "Plan") -> Iterator[str]:
    from gateway.tools.backup.folders import missing_accounts

    missing = {
        name
        for step in plan.steps
        for name in missing_accounts(step.member.owner, step.member.group)
    }
    for name in sorted(missing):
        yield f"  warning   there is no {name} on this machine: its files become root's"


def _data_dir_lines(plan: "Plan") -> Iterator[str]:
    """Yield a warning if the restored configuration may name another data directory."""
    original, target = plan.manifest.data_dir, plan.places.data_dir.absolute()
    has_configuration = any(step.member.part == "configuration" for step in plan.writes)
    has_files = any(step.base == target for step in plan.steps)
    if has_configuration and has_files and Path(original) != target:
        yield (
            f"  warning   the data directory was {original}, and here it is {target}: if the "
            f"restored configuration names the former, add --data-dir {shlex.quote(original)}"
        )
