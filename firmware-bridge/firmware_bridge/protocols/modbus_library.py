"""Library of descriptions of Modbus device models.

With a description, the line `device = "eastron.sdm630"` in the configuration replaces forty
register tables. A description is a TOML file with `registers`, and with keys that apply to all of
them. It is looked up in `devices/` next to the configuration file, and then in the package. To
support another device, add a file of the same form to `devices/`.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from firmware_bridge.protocols.modbus_register import Register
from gateway.process.declarations.directory import CONFIGURATION_DIRECTORY
from gateway.process.declarations.quantities import refusal
from gateway.process.declarations.section import keys_of

PACKAGED: Final = Path(__file__).parents[1] / "devices"
DIRECTORY_NAME: Final = "devices"
DESCRIPTION_BYTES_MAX: Final = 65_536
"""Maximum size of a description. Two hundred registers take 20 KiB."""
NAME_PATTERN: Final = r"[a-z0-9_]{1,32}\.[a-z0-9_]{1,32}"
_DEVICE_KEYS: Final = frozenset({"registers_per_request", "word_order", "byte_order", "no_value"})
_REGISTER_KEYS: Final = frozenset({"kind", "type"})
_FOR_PEOPLE: Final = frozenset({"title", "source", "line"})
_KNOWN: Final = _DEVICE_KEYS | _REGISTER_KEYS | _FOR_PEOPLE | {"registers", "same_as"}


def names_known() -> list[str]:
    """Return the names of all available device descriptions."""
    return sorted({path.stem for folder in _folders() for path in folder.glob("*.toml")})


def description_of(name: str) -> Mapping[str, Any]:
    """Return the description of a device model.

    A description can refer to a second description with the key `same_as`. Keys that the first one
    lacks are then taken from the second one.

    Raises:
        PydanticCustomError: if the description does not exist or is invalid.
    """
    written = _read(name)
    if "same_as" not in written:
        return written
    other = _read(str(written["same_as"]))
    if "same_as" in other:
        raise refusal(f"a description of {name} whose same_as has registers")
    return {**other, **{key: value for key, value in written.items() if key != "same_as"}}


def completed_device(written: Mapping[str, Any]) -> Mapping[str, Any]:
    """Complete a device's configuration table (`written`) with the description of its model.

    The table's key `device` names the description. Without this key, return the table unchanged. A
    register in the table replaces the register of the same name in the description. The table's key
    `quantities` selects registers of the description.

    Raises:
        PydanticCustomError: if the description is invalid or lacks a selected quantity.
    """
    name, own, chosen = (written.get(key) for key in ("device", "registers", "quantities"))
    if not isinstance(name, str) or re.fullmatch(NAME_PATTERN, name) is None:
        return written
    description = description_of(name)
    common = {key: description[key] for key in _REGISTER_KEYS & description.keys()}
    registers = [{**common, **each} for each in description["registers"]]
    if isinstance(chosen, list):
        names = [each["name"] for each in registers]
        for each in chosen:
            if each not in names:
                raise refusal(f"quantities of {name}: {', '.join(names)}; and not {each}")
        registers = [each for each in registers if each["name"] in chosen]
    if isinstance(own, list):
        replaced = {each.get("name") for each in own if isinstance(each, Mapping)}
        registers = [each for each in registers if each["name"] not in replaced] + own
    device_settings = {key: description[key] for key in _DEVICE_KEYS & description.keys()}
    return {**device_settings, **written, "registers": registers}


def _folders() -> Iterable[Path]:
    directory = CONFIGURATION_DIRECTORY.get()
    return (PACKAGED,) if directory is None else (directory / DIRECTORY_NAME, PACKAGED)


def _read(name: str) -> dict[str, Any]:
    for folder in _folders():
        path = folder / f"{name}.toml"
        if path.is_file():
            return _checked(path)
    import difflib  # noqa: PLC0415 - only for an error message

    near = difflib.get_close_matches(name, names_known(), n=3, cutoff=0.4)
    likely = f"; did you mean {', '.join(near)}?" if near else ""
    raise refusal(
        f"a device that is described: {name}.toml is neither in {DIRECTORY_NAME}/ next to the "
        f"configuration nor in the package{likely} `oncegate serial devices` lists them"
    )


def _checked(path: Path) -> dict[str, Any]:
    """Read a device description, and check its structure.

    The values are checked later, together with the configuration table of the device.
    """
    try:
        with path.open("rb") as file:
            content = file.read(DESCRIPTION_BYTES_MAX + 1)
        if len(content) > DESCRIPTION_BYTES_MAX:
            raise refusal(f"a description of at most {DESCRIPTION_BYTES_MAX} bytes: {path}")
        written = tomllib.loads(content.decode())
    except OSError as error:
        raise refusal(f"a file that can be read: {path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise refusal(f"TOML in {path}: {error}") from None
    if unknown := written.keys() - _KNOWN:
        raise refusal(f"one of {', '.join(sorted(_KNOWN))} in {path}, and not {min(unknown)}")
    registers = written.get("registers")
    has_registers = isinstance(registers, list) and all(
        isinstance(each, dict) and isinstance(each.get("name"), str) for each in registers
    )
    if not (has_registers or isinstance(written.get("same_as"), str)):
        raise refusal(f"registers with a name each, or same_as, in {path}")
    for each in registers or ():
        if unknown := each.keys() - set(keys_of(Register)):
            raise refusal(
                f"one of {', '.join(keys_of(Register))} for {each['name']} in {path}, and not "
                f"{min(unknown)}"
            )
    return written
