"""`oncegate api`: the REST interface and the status page."""

from typing import Annotated

import typer

from gateway.cli.options import (
    ConfigOption,
    DataDirOption,
    QuietOption,
    VerboseOption,
    configuration_of,
)
from gateway.cli.services import PreparedApi

PortOption = Annotated[
    int | None, typer.Option("--port", metavar="PORT", help="Where the page listens: 8080.")
]


def api(
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    port: PortOption = None,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> PreparedApi:
    """Serve the status page and the REST interface.

    It asks the broker through its status socket, which only reads.

    Examples:

        oncegate api

        oncegate api --port 8090 --data-dir /var/lib/oncegate
    """
    from api.settings import ApiSettings

    configuration = configuration_of(config, gateway__data_dir=data_dir, api__port=port)
    settings = ApiSettings(
        bind=configuration.api.bind,
        port=configuration.api.port,
        status_socket=configuration.gateway.status_socket,
    )
    return PreparedApi(settings=settings, verbose=verbose, quiet=quiet)
