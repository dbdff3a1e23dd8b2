"""Writes the settings from the provisioning file to files on the data partition.

Each file is replaced atomically. After a power cut, some files may be old and some new. The
provisioning file then still has all settings, and the next boot writes all files again.
"""

import contextlib
import secrets
import subprocess
from collections.abc import Callable
from pathlib import Path

from gateway.broker.access.passwords.file import PasswordFile, remove_user, set_password
from gateway.process.files.toml_text import text_of
from oncegate_device import network_files
from oncegate_device.places import Places, write
from oncegate_device.wanted import BRIDGE_USER, User, Wanted, WantedError

Own = Callable[[Path, str, str], None]
"""Function that sets the user and the group of a file, like `shutil.chown`."""


def store(wanted: Wanted, places: Places, own: Own) -> None:
    """Write all settings to the data partition. If a secret is empty, its stored value is kept.

    Raises:
        WantedError: if an empty secret has no stored value. Nothing is written in this case.
    """
    _refuse_secrets_that_are_missing(wanted, places)
    for folder in (places.configuration, places.device / "ssh", places.device / "wpa_supplicant"):
        folder.mkdir(parents=True, exist_ok=True)
    _store_users(wanted.users, places.configuration, own)
    _store_upload_environment(wanted.upload_environment, places.configuration)
    network_files.write_wifi(wanted.wifi, places.device)
    network_files.write_ethernet(wanted.ethernet, places.device)
    _store_ssh(wanted.device.ssh_keys, places.device / "ssh")
    hostname = wanted.device.hostname or network_files.DEFAULT_NAME
    network_files.write_hostname(hostname, places.device)
    # It has no secrets, so all users of this machine may read it.
    text = "# Made from gateway.toml of the boot partition.\n" + text_of(wanted.gateway)
    write(places.configuration / "gateway.toml", text, 0o644)


def stored_environment_of(configuration: Path) -> dict[str, str]:
    """Return the stored environment variables of the uploader.

    `configuration` is the folder that contains the file upload.env.
    """
    with contextlib.suppress(FileNotFoundError):
        lines = (configuration / "upload.env").read_text().splitlines()
        return {
            name: value.strip('"').replace('\\"', '"').replace("\\\\", "\\")
            for name, _, value in (line.partition("=") for line in lines)
        }
    return {}


def _refuse_secrets_that_are_missing(wanted: Wanted, places: Places) -> None:
    name, problems = places.file.name, []
    passwords = places.configuration / "passwords"
    for user in wanted.users:
        if not user.password and not (passwords.exists() and _has_user(passwords, user.name)):
            problems.append(f'{name}: [[users]] "{user.name}" has no password yet: write one')
    stored = stored_environment_of(places.configuration)
    for variable, value in wanted.upload_environment.items():
        if not value and variable not in stored:
            problems.append(f"{name}: [upload_environment] {variable} has no value yet: write one")
    wifi = wanted.wifi
    if (
        wifi is not None
        and not wifi.password
        and network_files.stored_psk_of(wifi.ssid, places.device) is None
    ):
        problems.append(f"{name}: [wifi] password is not stored for this ssid: write it")
    if problems:
        raise WantedError(problems)


def _has_user(passwords: Path, name: str) -> bool:
    return any(line.startswith(f"{name}:") for line in passwords.read_text().splitlines())


def _store_users(users: tuple[User, ...], configuration: Path, own: Own) -> None:
    """Write the users to the password file, and add the bridge as a user with a generated password.

    Other users are removed. If `users` is empty, the password file and the bridge's password are
    deleted instead.
    """
    passwords = configuration / "passwords"
    secret = configuration / "bridge-password"
    if not users:
        passwords.unlink(missing_ok=True)
        secret.unlink(missing_ok=True)
        return
    if not secret.exists() or not (passwords.exists() and _has_user(passwords, BRIDGE_USER)):
        password = secrets.token_urlsafe(32)
        set_password(passwords, BRIDGE_USER, password.encode())
        write(secret, f"{password}\n", 0o640)
    own(secret, "root", "oncegate-bridge")
    for user in users:
        if user.password:
            set_password(passwords, user.name, user.password.encode())
    kept = {BRIDGE_USER, *(user.name for user in users)}
    for line in passwords.read_text().splitlines():
        name = line.partition(":")[0]
        if name not in kept:
            remove_user(passwords, name)
    PasswordFile.load(passwords)
    passwords.chmod(0o640)
    own(passwords, "root", "oncegate-broker")


def _store_upload_environment(wanted: dict[str, str], configuration: Path) -> None:
    stored = stored_environment_of(configuration)
    values = {name: value or stored[name] for name, value in wanted.items()}
    # The syntax that systemd reads in an EnvironmentFile.
    escaped = {
        name: value.replace("\\", "\\\\").replace('"', '\\"') for name, value in values.items()
    }
    text = "".join(f'{name}="{value}"\n' for name, value in escaped.items())
    write(configuration / "upload.env", text, 0o600)


def _store_ssh(keys: tuple[str, ...], folder: Path) -> None:
    write(folder / "authorized_keys", "".join(f"{key}\n" for key in keys), 0o600)
    host_key = folder / "ssh_host_ed25519_key"
    if keys and not host_key.exists():
        partial = folder / "ssh_host_ed25519_key.partial"
        partial.unlink(missing_ok=True)
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(partial)]
        subprocess.run(command, check=True)
        partial.with_suffix(".partial.pub").rename(folder / "ssh_host_ed25519_key.pub")
        partial.rename(host_key)
