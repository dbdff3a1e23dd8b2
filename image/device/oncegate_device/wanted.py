"""Parses and validates the provisioning file, `gateway.toml` on the boot partition.

The file has the sections of the gateway's configuration (docs/configuration.md) and five more:
`[device]`, `[wifi]`, `[ethernet]`, `[[users]]` and `[upload_environment]`. A secret is removed from
the boot partition once it is stored. An empty string in its place means "keep the stored value".
"""

import tomllib
from dataclasses import dataclass
from typing import Annotated, Any

from firmware_bridge.protocols.table import PROTOCOLS
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core.core_schema import CoreSchema, no_info_plain_validator_function

from gateway.configuration.checking import configuration_of
from gateway.configuration.problems import ConfigurationError, shown, suggestion
from gateway.process import network_settings
from gateway.process.declarations.quantities import Text, refusal
from gateway.process.files.toml_mistakes import reason_of
from oncegate_device.console import CONSOLE

FILE_BYTES_MAX = 64 << 10
"""Largest size of the file in bytes. It is written by hand, so a larger file is a mistake."""
BRIDGE_USER = "oncegate-bridge"
MQTT_PORT = 1883
NETWORK = "0.0.0.0"  # noqa: S104
PASSWORDS = "/etc/oncegate/passwords"
BRIDGE_PASSWORD = "/etc/oncegate/bridge-password"  # noqa: S105 - a file's name

_HOSTNAME = Text(network_settings.HOSTNAME, network_settings.HOSTNAME_ALLOWED)
_SSH_KEY = Text(
    r"(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com|"
    r"sk-ecdsa-sha2-nistp256@openssh\.com) [A-Za-z0-9+/]{40,2000}={0,3}( [^\r\n]{0,200})?",
    "a public key as ssh-keygen writes it (the line of a .pub file)",
)
_WIFI_PASSWORD = Text(network_settings.WIFI_PASSWORD, network_settings.WIFI_PASSWORD_ALLOWED)
_INTERFACE = Text(network_settings.INTERFACE, network_settings.INTERFACE_ALLOWED)
_VARIABLE = Text(
    r"(AWS|GOOGLE|AZURE)_[A-Z0-9_]{1,60}", "a variable like AWS_ACCESS_KEY_ID, GOOGLE_... or AZURE_"
)

# Keys whose values the image sets: paths, and the users and groups of the systemd units.
_OWNED = {
    "gateway": ("data_dir", "control_dir", "control_group", "status_group", "operate_group"),
    "access": ("password_file",),
    "bridge": ("username", "password_file"),
}
# Settings that reduce small writes, which wear out a card, unless the file sets other values. They
# delay only data that also exists elsewhere, so no guarantee is weakened
# (docs/decisions/0074-*.md).
_CARE = {
    "bridge": {"commit_delay": "10s"},
    "limits": {
        "commit_delay": "50ms",
        "checkpoint_interval": "600s",
    },
    "session_log": {"seal_after": "300s"},
}


class WantedError(Exception):
    """Raised if the provisioning file is not valid. `problems` has one line for each mistake."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Country:
    """Pydantic annotation for a country. It converts common mistakes to the two-letter code."""

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> CoreSchema:
        return no_info_plain_validator_function(self._checked)

    def _checked(self, written: object) -> str:
        country = network_settings.country_of(written)
        if country is None:
            raise refusal(network_settings.COUNTRY_ALLOWED)
        return country


class Section(BaseModel):
    """Base class of the provisioning file's sections. Unknown keys and wrong types are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Device(Section):
    """The section `[device]`: the host name, and the public keys for logging in with SSH."""

    hostname: Annotated[str, _HOSTNAME] | None = None
    ssh_keys: Annotated[tuple[Annotated[str, _SSH_KEY], ...], Field(strict=False)] = ()


class Wifi(Section):
    """The section `[wifi]`: the wireless network to join."""

    ssid: Annotated[str, Text(network_settings.SSID, network_settings.SSID_ALLOWED)]
    password: Annotated[str, _WIFI_PASSWORD]
    country: Annotated[str, Country()] | None = None
    """Country code (ISO 3166-1). If None, only channels that are allowed everywhere are used."""
    hidden: bool = False
    """True if the network does not broadcast its name, so the device must probe for the name."""

    @model_validator(mode="after")
    def _fits_into_a_beacon(self) -> "Wifi":
        if len(self.ssid.encode()) > network_settings.SSID_BYTES_MAX:
            raise refusal(f"an ssid of at most {network_settings.SSID_BYTES_MAX} bytes")
        return self


class Ethernet(Section):
    """The section `[ethernet]`: a fixed address. Without this section, Ethernet uses DHCP."""

    address: str
    """An IPv4 address with its prefix length, like 192.0.2.10/24."""
    gateway: str | None = None
    dns: Annotated[tuple[str, ...], Field(strict=False)] = ()
    interface: Annotated[str, _INTERFACE] | None = None
    """The adapter that gets the address. If None, every Ethernet adapter gets it."""

    @model_validator(mode="after")
    def _can_be_used(self) -> "Ethernet":
        try:
            network_settings.ethernet_address(self.address, self.gateway, self.dns)
        except network_settings.NetworkSettingsError as error:
            raise refusal(str(error).partition("give ")[2]) from None
        return self


class User(Section):
    """A table `[[users]]`: a user who may connect to the MQTT broker over the network."""

    name: Annotated[str, Text(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}", "a name of 1 to 64 letters")]
    password: Annotated[str, Text(r"[^\0\r\n]{8,1024}|", "a password of at least 8 characters")]


class DeviceFile(Section):
    """The sections of the provisioning file that are not part of the gateway's configuration."""

    device: Device = Device()
    wifi: Wifi | None = None
    ethernet: Ethernet | None = None
    users: Annotated[tuple[User, ...], Field(strict=False)] = ()
    upload_environment: dict[Annotated[str, _VARIABLE], Annotated[str, Text(r"[^\0\r\n]*", "")]] = (
        Field(default_factory=dict)
    )


@dataclass(frozen=True, slots=True)
class Wanted:
    """The contents of a validated provisioning file."""

    device: Device
    wifi: Wifi | None
    ethernet: Ethernet | None
    users: tuple[User, ...]
    upload_environment: dict[str, str]
    notes: tuple[str, ...]
    """Lines for the report about settings that were corrected or are incomplete."""
    gateway: dict[str, Any]
    """The completed tables of the gateway's configuration, accepted by its model."""


def read(text: str, name: str) -> Wanted:
    """Parse and validate the text of the provisioning file.

    `name` is the file's name in error messages.

    Raises:
        WantedError: if the file has mistakes. The error has one line for each mistake.
    """
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise WantedError([f"{name}: is not TOML: {reason_of(error)}"]) from None
    own = {key: tables.pop(key) for key in list(tables) if key in DeviceFile.model_fields}
    device, problems = checked_device_file(own, name)
    problems = _problems_of_owned(tables, name) + problems
    completed = completed_for_image(tables, has_users=bool(own.get("users")))
    try:
        configuration_of(completed, lambda _: name, PROTOCOLS)
    except ConfigurationError as error:
        problems += error.problems
    names = [user.name for user in device.users]
    for repeated in sorted({each for each in names if names.count(each) > 1}):
        problems.append(f'{name}: [[users]] name = "{repeated}" is there twice: use it once')
    if problems:
        raise WantedError(problems)
    notes = _notes_about_wifi(device.wifi, own.get("wifi"))
    return Wanted(
        device.device, device.wifi, device.ethernet, device.users, device.upload_environment,
        notes, completed,
    )  # fmt: skip


def _notes_about_wifi(wifi: Wifi | None, written: Any) -> tuple[str, ...]:
    if wifi is None:
        return ()
    if wifi.country is None:
        note = (
            "Wi-Fi: no country is set: only channels that are open everywhere are used, not 12 and "
            '13, and little of 5 GHz; add country = "DE" (yours) to [wifi]'
        )
        return (note,)
    if written["country"] == wifi.country:
        return ()
    given = shown(written["country"])
    return (f'Wi-Fi: country = {given} was taken as "{wifi.country}", the country\'s code',)


def checked_device_file(tables: dict[str, Any], name: str) -> tuple[DeviceFile, list[str]]:
    """Validate the sections that are not part of the gateway's configuration.

    Return the sections, and a list with one line for each mistake. If there are mistakes, the
    returned sections are empty.
    """
    try:
        return DeviceFile.model_validate(tables), []
    except ValidationError as error:
        return DeviceFile(), [_line_of(details, name) for details in error.errors()]


def completed_for_image(tables: dict[str, Any], *, has_users: bool) -> dict[str, Any]:
    """Return the gateway's configuration, completed with the settings of the SD card image.

    `tables` are the configuration's tables, as the TOML file contains them. By default, the web
    page uses port 80, and commits are delayed to reduce wear on the card.

    If the argument `has_users` is True, users can connect over the network, and the bridge connects
    as a user with a generated password. Otherwise, MQTT is available only on this machine.
    """
    completed = {
        key: dict(each) if isinstance(each, dict) else each for key, each in tables.items()
    }
    gateway = _table(completed, "gateway")
    gateway["data_dir"] = "/var/lib/oncegate"
    gateway["control_dir"] = "/run/oncegate"
    gateway["control_group"] = "oncegate-control"
    gateway["status_group"] = "oncegate"
    gateway["operate_group"] = "oncegate-operate"
    _table(completed, "api").setdefault("port", 80)
    _table(completed, "console").setdefault("uart", CONSOLE)
    for section, keys in _CARE.items():
        table = _table(completed, section)
        for key, value in keys.items():
            table.setdefault(key, value)
    if has_users:
        completed.setdefault(
            "listeners", [{"bind": NETWORK, "port": MQTT_PORT, "anonymous": False}]
        )
        _table(completed, "access")["password_file"] = PASSWORDS
        bridge = _table(completed, "bridge")
        bridge["username"] = BRIDGE_USER
        bridge["password_file"] = BRIDGE_PASSWORD
    return completed


def _table(tables: dict[str, Any], name: str) -> dict[str, Any]:
    table = tables.setdefault(name, {})
    # A value that is not a table, such as `gateway = 1`, is rejected by the model later.
    return table if isinstance(table, dict) else {}


def _problems_of_owned(tables: dict[str, Any], name: str) -> list[str]:
    return [
        f"{name}: [{section}] {key} belongs to the image: take the line out"
        for section, keys in _OWNED.items()
        for key in keys
        if isinstance(tables.get(section), dict) and key in tables[section]
    ]


def _line_of(details: Any, name: str) -> str:
    """Return a line that describes a validation error. The line never contains a secret."""
    section, *rest = details["loc"]
    place = f"[[{section}]]" if section == "users" else f"[{section}]"
    keys = [part for part in rest if isinstance(part, str) and part != "[key]"]
    if section == "users" and rest and isinstance(rest[0], int):
        place += f" (number {rest[0] + 1})"
    place = " ".join([place, *keys[:1]])
    if details["type"] == "extra_forbidden":
        models: dict[str, type[Section]] = {
            "device": Device,
            "wifi": Wifi,
            "ethernet": Ethernet,
            "users": User,
        }
        fix = suggestion(str(rest[-1]), models[section].model_fields)
        return f"{name}: {place} is not a key of this version: {fix}"
    if details["type"] == "missing":
        return f"{name}: {place} is missing: every such table needs it"
    allowed = details.get("ctx", {}).get("allowed") or details["msg"]
    is_secret = section == "upload_environment" or "password" in keys
    given = "is set" if is_secret else f"= {shown(details['input'])}"
    return f"{name}: {place} {given} and cannot be used: use {allowed}"
