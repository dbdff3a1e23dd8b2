"""`oncegate id`: prints the gateway's id, or the public key that verifies its signatures."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.common.failures import CommandFailed
from gateway.cli.common.options import ConfigOption, DataDirOption, TenantOption, configuration_of
from gateway.process.files.disk_errors import line_of


def identity(
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    public_key: Annotated[
        bool,
        typer.Option(
            "--public-key", help="Print the id and the public key, as a line for `ingest --keys`."
        ),
    ] = False,
    tenant: TenantOption = None,
) -> None:
    """Print the gateway's id. Create it if there is none yet.

    The id names the gateway in its events, and is stored in the data directory.
    `oncegate upload` creates the key that signs the uploaded events. This key
    never leaves the device; --public-key prints its public half.

    Examples:

        oncegate id --config /etc/oncegate/gateway.toml

        oncegate id --public-key >> keys
    """
    from gateway.configuration import log_identity
    from gateway.process.files.private import prepare

    configuration = configuration_of(config, tenant=tenant, gateway__data_dir=data_dir)
    prepare(configuration.gateway.data_dir)
    gateway = log_identity(configuration)
    if public_key:
        print(gateway, _public_key_in(configuration.gateway.data_dir / "log"))
    else:
        print(gateway)


def _public_key_in(log_dir: Path) -> str:
    """Return the public key of the current signing key.

    Raises CommandFailed if there is no key yet.
    """
    from gateway.uploader.segments.signing_key import PUBLIC_KEY_FILE, public_keys_in

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
