"""The subcommand `provision` applies gateway.toml from the boot partition, once after each change.

Settings that Raspberry Pi Imager left on the same partition are added to gateway.toml first. The
order of the steps is safe against power cuts: the settings are durable on the data partition
before secrets are removed from the boot partition, and the digest of the applied file is written
last.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration import ConfigurationError, conf_d
from gateway.configuration.checking import configuration_of
from oncegate_device import console, imager, wiping
from oncegate_device.places import Places, Writable, remounted
from oncegate_device.report import write_digest, write_record, write_report
from oncegate_device.settings import Own, store
from oncegate_device.wanted import FILE_BYTES_MAX, NETWORK, Wanted, WantedError, read


def provision(
    places: Places, *, writable: Writable = remounted, own: Own = shutil.chown
) -> list[str]:
    """Apply gateway.toml, and write a report about the result. Return the lines of the report.

    The caller prints the lines to the console and the journal. The argument `writable` is a context
    manager that makes the boot partition writable. The argument `own` is a function that sets the
    owner of a file.

    Raises:
        WantedError: if the file is not valid. The previous settings stay in force, and the report
            on the boot partition contains the reason.
    """
    with writable(places.boot):
        wiping.finish(places.file)
        imager.finish(places.boot)
        try:
            before = _text_of(places.file)
            text, lines = _with_imager_s(before, places)
            wanted = read(text, places.file.name)
            _refuse_conflicts_with_added_sensors(wanted, places)
            store(wanted, places, own)
            console.store(wanted.gateway["console"]["uart"], places)
        except WantedError as error:
            lines = [
                "gateway.toml was not taken. What was set before still counts.",
                *error.problems,
            ]
            _report(lines, places, is_taken=False)
            raise
        blanked = wiping.without_secrets(text)
        lines = [*_done(wanted, secrets_taken=blanked != text), *lines]
        if blanked != before:
            wiping.replace(places.file, blanked.encode())
        imager.wipe(places.boot)
        _report(lines, places, is_taken=True)
    write_digest(blanked.encode(), places)
    return lines


def _refuse_conflicts_with_added_sensors(wanted: Wanted, places: Places) -> None:
    """Check that the file's sensors do not conflict with sensors that were added on the web page.

    The gateway would not start if two sensors had the same name or the same port.

    Raises:
        WantedError: if the sensors conflict.
    """
    name = places.file.name
    added = conf_d.ports_in(places.configuration / conf_d.FOLDER, {}).ports
    own = wanted.gateway.get("serial", [])
    problems = [line for _, line in conf_d.repeated(added, own, name)]
    if added and not problems:
        tables = {**wanted.gateway, "serial": [*own, *(port.table for port in added)]}
        try:
            configuration_of(tables, lambda _: f"{name} with the sensors of the page", PROTOCOLS)
        except ConfigurationError as error:
            problems += error.problems
    if problems:
        fix = "remove them on the page (Sensors, Ports), or from this file"
        raise WantedError([*problems, f"{name}: sensors that were added on the page: {fix}"])


def _with_imager_s(text: str, places: Places) -> tuple[str, list[str]]:
    """Return the text of gateway.toml with Imager's settings added, and lines for the report.

    Raises:
        WantedError: if one of the files is not valid.
    """
    if not imager.is_there(places.boot):
        return text, []
    read(text, places.file.name)
    found = imager.read(places.boot)
    together = imager.joined(text, found.tables)
    lines = list(found.notes)
    if together != text:
        lines.append("The settings of Raspberry Pi Imager are now in gateway.toml")
    elif found.tables:
        lines.append("What Raspberry Pi Imager set was not taken: gateway.toml has it itself")
    return together, lines


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        # A card without gateway.toml can still have settings from Imager.
        file.touch()
        return ""
    if len(content) > FILE_BYTES_MAX:
        raise WantedError(
            [f"{file.name}: longer than {FILE_BYTES_MAX} bytes: is it the right one?"]
        )
    try:
        # Editors of other systems write a byte order mark and \r\n.
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        problem = f"{file.name}: byte {error.start} is not UTF-8: save it as UTF-8"
        raise WantedError([problem]) from None


def _done(wanted: Wanted, *, secrets_taken: bool) -> Iterator[str]:
    hostname = wanted.device.hostname or "oncegate"
    yield f"The gateway is called {hostname}"
    # The page shows these lines to its visitors, so they must not name networks or users.
    yield "Wi-Fi: a network is set" if wanted.wifi else "Wi-Fi: not used"
    if wanted.ethernet:
        yield "Ethernet: a fixed address"
    yield from wanted.notes
    keys = len(wanted.device.ssh_keys)
    may = f"{_counted(keys, 'key')} may log in as root"
    yield f"SSH: {may}" if keys else "SSH: closed, no key was given"
    users = len(wanted.users)
    yield f"MQTT: open to {_counted(users, 'user') if users else 'this machine only'}"
    ports = [str(port["name"]) for port in wanted.gateway.get("serial", ())]
    yield f"Sensors: {', '.join(ports) or 'none named'}"
    if wanted.gateway["console"]["uart"] == console.SENSORS:
        yield "UART on the header: for sensors, as /dev/serial0; the console is on the screen"
    yield _page_of(wanted.gateway["api"], hostname)
    if secrets_taken:
        yield "Passwords and keys were moved from gateway.toml to the data partition"


def _page_of(api: dict[str, Any], hostname: str) -> str:
    roles = ("viewer", "operator", "administrator")
    people = sum(len(api.get(f"{role}s", ())) for role in roles)
    groups = sum(len(api.get(f"{role}_groups", ())) for role in roles)
    if api.get("bind") != NETWORK:
        return 'Page: this machine only ([api] bind = "0.0.0.0" is for the network)'
    if not people and not groups and not api.get("allow_anonymous_network"):
        return "Page: this machine only ([api] viewers names the users who may see it)"
    scheme, usual_port = ("https", 443) if api.get("tls") else ("http", 80)
    port = "" if api["port"] == usual_port else f":{api['port']}"
    named = [
        _counted(number, noun) for number, noun in ((people, "user"), (groups, "group")) if number
    ]
    who = " and ".join(named) or "everyone"
    return f"Page: {scheme}://{hostname}.local{port}/ for {who} on the network"


def _counted(number: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural, such as `2 keys`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _report(lines: list[str], places: Places, *, is_taken: bool) -> None:
    write_report(lines, places)
    write_record(lines, places, is_taken=is_taken)
