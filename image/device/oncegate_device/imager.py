"""Reads the settings that a user made in Raspberry Pi Imager: host name, SSH keys and Wi-Fi.

Imager writes its settings to the boot partition in cloud-init formats (`init_format` in
os_list.json). They are added to gateway.toml, so that this file describes all of the card's
settings.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from gateway.process.files.toml_text import text_of
from oncegate_device import wiping
from oncegate_device.wanted import FILE_BYTES_MAX, WantedError, checked_device_file

USER_DATA, NETWORK_CONFIG = "user-data", "network-config"
FILES = (USER_DATA, NETWORK_CONFIG, "meta-data")

_SETTINGS = "Raspberry Pi Imager"
_FIX = "delete the file and use gateway.toml, or flash again"


class _ImagerModel(BaseModel):
    """Base class for models of Raspberry Pi Imager's files. Unknown keys are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def _tables_of_list(value: Any) -> Any:
    # In `users: [default]`, the string means the default user of the distribution.
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else ()


def _tables_of_table(value: Any) -> Any:
    # Other keys, such as `renderer: networkd`, are next to the interfaces.
    if not isinstance(value, Mapping):
        return {}
    return {name: each for name, each in value.items() if isinstance(each, Mapping)}


class _User(_ImagerModel):
    ssh_authorized_keys: tuple[str, ...] = ()
    passwd: str = ""


class _UserData(_ImagerModel):
    """The file `user-data`. Format: https://docs.cloud-init.io/en/latest/reference/modules.html"""

    hostname: str = ""
    users: Annotated[tuple[_User, ...], BeforeValidator(_tables_of_list)] = ()


class _AccessPoint(_ImagerModel):
    password: str = ""
    hidden: bool = False


class _Interface(_ImagerModel):
    country: str = Field("", alias="regulatory-domain")
    access_points: dict[str, _AccessPoint] = Field(alias="access-points", default_factory=dict)


class _Network(_ImagerModel):
    """The file `network-config`, in version 2 of Netplan's format.

    Source: https://netplan.readthedocs.io/en/stable/netplan-yaml/
    """

    wifis: Annotated[dict[str, _Interface], BeforeValidator(_tables_of_table)] = Field(
        default_factory=dict
    )


_Model = TypeVar("_Model", bound=_ImagerModel)


@dataclass(frozen=True, slots=True)
class ImagerSettings:
    """Settings that were made in Raspberry Pi Imager, as tables of gateway.toml.

    `notes` are sentences about settings that are not supported.
    """

    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def is_there(boot: Path) -> bool:
    """Return True if one of Imager's files exists, or if the removal of one was interrupted."""
    return any(boot.joinpath(f"{name}{end}").exists() for name in FILES for end in ("", ".was"))


def finish(boot: Path) -> None:
    """Complete any removal of Imager's files that a power cut interrupted."""
    for name in FILES:
        wiping.finish(boot / name)


def read(boot: Path) -> ImagerSettings:
    """Read the settings from Imager's files. If there are no files, the result is empty.

    Raises:
        WantedError: if a file is not in Imager's format.
    """
    data = _read(boot / USER_DATA, _UserData)
    keys = [key.strip() for user in data.users for key in user.ssh_authorized_keys]
    device = {
        **({"hostname": data.hostname.lower()} if data.hostname else {}),
        **({"ssh_keys": keys} if keys else {}),
    }
    networks = [
        _wifi(interface, ssid, point)
        for interface in _read(boot / NETWORK_CONFIG, _Network).wifis.values()
        for ssid, point in interface.access_points.items()
    ]
    notes = []
    if any(user.passwd for user in data.users):
        notes.append("Imager's user and password were not taken: root logs in, with an SSH key")
    if len(networks) > 1:
        notes.append(f"{NETWORK_CONFIG} has {len(networks)} networks: the first counts")
    tables = {
        **({"device": device} if device else {}),
        **({"wifi": networks[0]} if networks else {}),
    }
    return ImagerSettings(tables, tuple(notes))


def joined(text: str, tables: Mapping[str, dict[str, Any]]) -> str:
    """Add Imager's settings (`tables`) to the text of a valid gateway.toml. Return the new text.

    Only missing tables and keys are added, and comments are kept. An existing table for Wi-Fi is
    not changed, because gateway.toml and Imager may name different networks with different
    passwords.

    Raises:
        WantedError: if a value to be added is not valid.
    """
    given = tomllib.loads(text)
    missing = {name: table for name, table in tables.items() if name not in given}
    if "device" in tables and "device" in given:
        device = {key: v for key, v in tables["device"].items() if key not in given["device"]}
        missing |= {"device": device} if device else {}
    if not missing:
        return text
    _, problems = checked_device_file(missing, _SETTINGS)
    if "wifi" in missing and not missing["wifi"]["password"]:
        problems.append(
            f"{_SETTINGS}: [wifi] has no password: a gateway joins no network without one"
        )
    if problems:
        raise WantedError(problems)
    return _with(text, given, missing)


def wipe(boot: Path) -> None:
    """Overwrite and delete Imager's files, which contain a Wi-Fi password and a password hash."""
    for name in FILES:
        wiping.remove(boot / name)


def _read(file: Path, model: type[_Model]) -> _Model:
    try:
        with file.open("rb") as opened:
            content = opened.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return model()
    if len(content) > FILE_BYTES_MAX:
        raise WantedError([f"{file.name}: longer than {FILE_BYTES_MAX} bytes: {_FIX}"])
    try:
        # BaseLoader creates only tables, lists and strings. A network may be called "no" or "0123".
        tables = yaml.load(content, Loader=yaml.BaseLoader)  # noqa: S506
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1} " if mark is not None else ""
        raise WantedError([f"{file.name}: {line}is not YAML: {_FIX}"]) from None
    if isinstance(tables, Mapping) and isinstance(tables.get("network"), Mapping):
        tables = tables["network"]
    try:
        return model.model_validate(tables or {})
    except ValidationError as error:
        places = (".".join(str(part) for part in each["loc"]) for each in error.errors())
        raise WantedError(
            [f"{file.name}: {place} is not as Imager writes it: {_FIX}" for place in places]
        ) from None


def _wifi(interface: _Interface, ssid: str, point: _AccessPoint) -> dict[str, Any]:
    return {
        **({"country": interface.country.upper()} if interface.country else {}),
        "ssid": _decoded(ssid),
        "password": point.password,
        **({"hidden": True} if point.hidden else {}),
    }


def _decoded(ssid: str) -> str:
    r"""Return an SSID decoded as UTF-8. Imager escapes each byte, as in "\xc3\xbc"."""
    try:
        return ssid.encode("latin-1").decode()
    except UnicodeError:
        return ssid


def _with(text: str, given: dict[str, Any], missing: dict[str, dict[str, Any]]) -> str:
    wanted = given | {name: given.get(name, {}) | table for name, table in missing.items()}
    try:
        lines = "".join(_lines_with(text, missing))
        if tomllib.loads(lines) == wanted:
            return lines
    except tomllib.TOMLDecodeError:
        pass
    return "# Written again without its comments, to add what Imager set.\n" + text_of(wanted)


def _lines_with(text: str, missing: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of `text` with the missing keys added.

    The keys of an existing table are added below its header. New tables are added at the end.
    """
    left = dict(missing)
    for line in text.splitlines(keepends=True):
        yield line if line.endswith("\n") else f"{line}\n"
        section = wiping.section_of(line)
        if section in left:
            _, _, pairs = text_of({section: left.pop(section)}).partition("\n")
            yield pairs.rstrip("\n") + "\n"
    if left:
        yield f"\n# Set in Raspberry Pi Imager.\n{text_of(left)}"
