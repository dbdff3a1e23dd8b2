"""`oncegate api`: the REST interface and the status page."""

from typing import Annotated

import typer

from gateway.cli.options import (
    ConfigOption,
    DataDirOption,
    QuietOption,
    TenantOption,
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
    tenant: TenantOption = None,
) -> PreparedApi:
    """Serve the status page and the REST interface.

    It asks the broker through a socket that only reads; operators act through another one.

    Examples:

        oncegate api

        oncegate api --port 8090 --data-dir /var/lib/oncegate
    """
    from api.roles import ROLES_BY_WORD
    from api.settings import ApiSettings
    from gateway.cli.page_certificate import certificate_of

    configuration = configuration_of(
        config, tenant=tenant, gateway__data_dir=data_dir, api__port=port
    )
    page, gateway = configuration.api, configuration.gateway
    settings = ApiSettings(
        bind=page.listens_at,
        port=page.port,
        bind_unused=page.bind if page.stays_on_loopback else None,
        hosts=page.hosts,
        roles={name: ROLES_BY_WORD[role] for name, role in page.roles.items()},
        group_roles={name: ROLES_BY_WORD[role] for name, role in page.group_roles.items()},
        tokens_file=page.tokens_file,
        certificate=None if page.tls is None else certificate_of(page.tls),
        status_socket=gateway.status_socket,
        operate_socket=gateway.operate_socket,
        history_dir=gateway.data_dir / "history",
    )
    return PreparedApi(settings=settings, verbose=verbose, quiet=quiet)
