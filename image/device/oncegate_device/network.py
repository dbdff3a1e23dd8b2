"""Changes to the card's name and network from the web page. Each change begins with a trial.

::

    trial ──> kept       an administrator has reached the page, and keeps the change
      └────> undone      by an administrator, after TRIAL_SECONDS, or at the next start

A change is on trial until it is kept or undone. A wrong address therefore cannot lock operators out
for long. During the trial, the former settings are stored in the directory `network-before`. They
are restored if the change is undone, and also after a power cut.
"""

import json
import shutil
import subprocess
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

from gateway.process.network_settings import NetworkChange
from oncegate_device import card, gateway_toml, network_files, wiping
from oncegate_device.places import Places, Writable, remounted, sync_folder, write
from oncegate_device.report import is_applied, write_digest, write_record, write_report
from oncegate_device.start import start_of

TRIAL_SECONDS = 300.0
"""Time in which a change must be kept. A person needs a minute to find the page at a new address,
and a Raspberry Pi Zero half a minute to join a wireless network."""
APPLY_SECONDS_MAX = 60.0
"""Timeout for systemctl. To apply settings, systemd only starts one small program."""
APPLY, KEEP_UNIT = "device-network-apply.service", "device-network-keep.service"
TIMER, WIFI_UNIT = "oncegate-network.timer", "wpa_supplicant@wlan0.service"

_REPLACED = ("The gateway is called ", "Wi-Fi: ", "Ethernet: ")
"""Beginnings of lines in the provisioning report that a change replaces."""

Systemctl = Callable[..., None]


class ChangeError(Exception):
    """Raised if a network change is refused. The message explains why, and how to fix it."""


def systemctl(*arguments: str) -> None:
    """Run systemctl. Raises subprocess.SubprocessError if it fails."""
    subprocess.run(["systemctl", *arguments], check=True, timeout=APPLY_SECONDS_MAX)


def begin(change: NetworkChange, places: Places, run: Systemctl = systemctl) -> None:
    """Apply a change and begin its trial.

    Raises:
        ChangeError: if the change is refused, in which case nothing is changed.
    """
    device = places.device
    if places.network_before.exists():
        raise ChangeError("Another change is on trial: keep it or undo it first")
    wifi = change.wifi
    if wifi and not wifi.password and network_files.stored_psk_of(wifi.ssid, device) is None:
        raise ChangeError("The password of this Wi-Fi network is not stored: enter it")
    _store_before(places)
    old = network_files.settings_of(device)
    until_s = time.clock_gettime(time.CLOCK_BOOTTIME) + TRIAL_SECONDS
    _record(places, "trial", "The change is on trial: keep it, or it is undone", until_s)
    if change.hostname is not None:
        network_files.write_hostname(change.hostname, device)
    if wifi is not None or change.leaves_wifi:
        network_files.write_wifi(wifi, device)
    if change.ethernet is not None or change.uses_dhcp:
        network_files.write_ethernet(change.ethernet, device)
    new = network_files.settings_of(device)
    print(f"On trial for {TRIAL_SECONDS:g} s: {_differences(old, new)}", flush=True)
    try:
        run("restart", "--no-block", TIMER)
        _apply(places, run, is_wifi_changed=wifi is not None or change.leaves_wifi)
    except subprocess.SubprocessError:
        undo(
            places, "it could not be applied: `journalctl -u oncegate-network` has the reason", run
        )
        raise


def undo(places: Places, reason: str, run: Systemctl = systemctl) -> None:
    """Restore the former settings, and apply them. Do nothing if no change is on trial."""
    if not places.network_before.exists():
        return
    is_wifi_changed = restore(places, reason)
    _apply(places, run, is_wifi_changed=is_wifi_changed)


def restore(places: Places, reason: str) -> bool:
    """Restore the files with the former settings, and return True if the Wi-Fi settings changed.

    The settings are not applied. During system startup, this is not necessary, because the programs
    that use the files have not read them yet.
    """
    before, device = places.network_before, places.device
    is_wifi_changed = _content(before / network_files.WIFI) != _content(device / network_files.WIFI)
    for name, mode in network_files.FILES.items():
        content = _content(before / name)
        if content is None:
            (device / name).unlink(missing_ok=True)
        else:
            write(device / name, content, mode)
    _record(places, "undone", f"The change was undone: {reason}")
    shutil.rmtree(before)
    sync_folder(device)
    print(f"Name and network are those of before: {reason}", flush=True)
    return is_wifi_changed


def expire(places: Places, run: Systemctl = systemctl) -> None:
    """Undo the change on trial if its trial period has ended."""
    until_s = card.network_change_of(places).get("until_s")
    now_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    if not isinstance(until_s, float) or now_s >= until_s or until_s > now_s + TRIAL_SECONDS:
        undo(places, "it was not kept in time", run)


def keep(places: Places, writable: Writable = remounted) -> None:
    """Keep the change on trial, and write it to gateway.toml on the boot partition.

    Do nothing if no change is on trial.
    """
    before = places.network_before
    if not before.exists():
        return
    old, new = network_files.settings_of(before), network_files.settings_of(places.device)
    with writable(places.boot):
        note = _write_gateway_toml(places, old, new)
        lines = _report_lines(places, old, new)
        write_record(lines, places, is_taken=True)
        write_report(lines, places)
    _record(places, "kept", f"The change is kept{note}")
    shutil.rmtree(before)
    sync_folder(places.device)
    card.publish(places, start_of(places))
    print(f"Kept: {_differences(old, new)}", flush=True)


def _apply(places: Places, run: Systemctl, *, is_wifi_changed: bool) -> None:
    card.publish(places, start_of(places))
    run("start", APPLY)
    if is_wifi_changed:
        # Without blocking: where the board has no Wi-Fi, systemd waits for the device.
        run("restart", "--no-block", WIFI_UNIT)


def _store_before(places: Places) -> None:
    partial = places.network_before.with_name("network-before.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(mode=0o700)
    for name, mode in network_files.FILES.items():
        content = _content(places.device / name)
        if content is not None:
            (partial / name).parent.mkdir(mode=0o700, exist_ok=True)
            write(partial / name, content, mode)
    partial.rename(places.network_before)
    sync_folder(places.device)


def _write_gateway_toml(places: Places, old: dict[str, object], new: dict[str, object]) -> str:
    """Write the new settings to gateway.toml. Return a note if this fails, otherwise "".

    If the old file was recorded as already applied, the new file is recorded in the same way. The
    next start therefore does not apply it again.
    """
    wiping.finish(places.file)
    # A card may have no gateway.toml: it runs with the settings that it comes with.
    places.file.touch()
    content = places.file.read_bytes()
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
        after = gateway_toml.changed(text, new, old).encode()
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return ", but gateway.toml has mistakes and does not have it: correct the file"
    was_applied = is_applied(content, places) or not content
    if after != content:
        wiping.replace(places.file, after)
    if was_applied:
        write_digest(after, places)
    return ""


def _report_lines(places: Places, old: dict[str, object], new: dict[str, object]) -> list[str]:
    """Return the lines of the provisioning report with the new settings."""
    page, now = f"//{old['hostname']}.local", f"//{new['hostname']}.local"
    known = [each.replace(page, now) for each in card.provisioning_lines_of(places)]
    return [*network_lines(new), *(each for each in known if not each.startswith(_REPLACED))]


def network_lines(settings: dict[str, object]) -> list[str]:
    """Return the lines about host name, Wi-Fi and Ethernet for the provisioning report.

    The lines contain no names of Wi-Fi networks and no addresses, because every visitor of the page
    can read them.
    """
    return [
        f"The gateway is called {settings['hostname']}",
        "Wi-Fi: a network is set" if settings["wifi"] else "Wi-Fi: not used",
        *(["Ethernet: a fixed address"] if settings["ethernet"] else []),
    ]


def _differences(old: dict[str, object], new: dict[str, object]) -> str:
    """Return the names of the settings that differ, as text for the journal. Values are omitted."""
    return ", ".join(key for key in new if old[key] != new[key]) or "a password"


def _record(places: Places, state: str, sentence: str, until_s: float | None = None) -> None:
    record = {"state": state, "sentence": sentence, "until_s": until_s}
    write(places.network_change, json.dumps(record) + "\n", 0o644)


def _content(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
