"""Checks that the gateway's broker will accept the logins of the gateway's bridge and uplink.

The checks run before the bridge and the uplink are started.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.cli.common.broker_login import password_of
from gateway.cli.common.failures import CommandFailed

if TYPE_CHECKING:
    from gateway.broker.access.passwords.file import PasswordFile
    from gateway.configuration import Configuration


def mistakes_in_own_users(configuration: "Configuration", users: "PasswordFile") -> Iterator[str]:
    """Yield each reason why the broker would reject the gateway's bridge or uplink.

    Nothing is checked if users can also come from a database or from tokens, because those users
    are unknown before they log in. The bridge's login is not checked if no serial port is
    configured, or for a tenant, which has no bridge.
    """
    if configuration.access.sources != ("password_file",):
        return
    bridge, uplink = configuration.bridge, configuration.uplink
    if configuration.tenant is None and configuration.serial:
        yield from _mistakes_of(
            configuration,
            users,
            broker=bridge.broker,
            username=bridge.username,
            password_file=bridge.password_file,
            keys=("[bridge] username", "[bridge] password_file"),
        )
    if uplink.address is not None:
        yield from _mistakes_of(
            configuration,
            users,
            broker=uplink.local_broker,
            username=uplink.local_username,
            password_file=uplink.local_password_file,
            keys=("[uplink] local_username", "[uplink] local_password_file"),
        )


def _mistakes_of(
    configuration: "Configuration",
    users: "PasswordFile",
    *,
    broker: str | None,
    username: str | None,
    password_file: Path | None,
    keys: tuple[str, str],
) -> Iterator[str]:
    if configuration.own_listener(broker) is None or username is None:
        return  # The broker belongs to another program, or no user is configured.
    name_key, file_key = keys
    path = configuration.access.password_file
    if username not in users:
        yield f"{name_key}: {username!a} is not a user in {path}: oncegate passwd {path} {username}"
        return
    try:
        password = password_of(password_file, file_key)
    except CommandFailed:
        return  # This is reported separately.
    if password is None:
        yield f"{file_key} is missing: {username!a} has a password in {path}"
    elif not users.verify(username, password.encode()):
        yield (
            f"{file_key}: {password_file} does not have the password that {username!a} has in "
            f"{path}: write it there, or change it with: oncegate passwd {path} {username}"
        )
