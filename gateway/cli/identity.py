"""`oncegate id`: the gateway's id, and the public key that its segments are signed with."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.failures import CommandFailed
from gateway.cli.options import ConfigOption, DataDirOption, TenantOption, configuration_of
from gateway.files.disk_errors import line_of


def identity(
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    public_key: Annotated[
        bool,
        typer.Option("--public-key", help="Print id and public key: a line for `ingest --keys`."),
    ] = False,
    tenant: TenantOption = None,
) -> None:
    """Print the gateway's id, and make it where there is none yet.

    It names the gateway's events and is kept in the data directory. The key that signs them is made
    by `oncegate upload`, and never leaves the device; its public half is what --public-key prints.

    Examples:

        oncegate id --config /etc/oncegate/gateway.toml

        oncegate id --public-key >> keys
    """
    from gateway.configuration import log_identity
    from gateway.files.private import prepare

    configuration = configuration_of(config, tenant=tenant, gateway__data_dir=data_dir)
    prepare(configuration.gateway.data_dir)
    gateway = log_identity(configuration)
    if public_key:
        print(gateway, _public_key_in(configuration.gateway.data_dir / "log"))
    else:
        print(gateway)


def _public_key_in(log_dir: Path) -> str:
    """Return the key with which segments are signed now. Raises CommandFailed."""
    from gateway.session_log.segments.signing_key import PUBLIC_KEY_FILE, public_keys_in

    try:
        keys = public_keys_in(log_dir)
    except OSError as error:
        raise CommandFailed(f"oncegate id: {line_of(error)}") from error
    if not keys:
        raise CommandFailed(
            f"oncegate id: there is no {log_dir / PUBLIC_KEY_FILE} yet: the key is made when "
            "`oncegate upload` starts for the first time"
        )
    return keys[-1]
