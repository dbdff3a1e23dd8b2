"""`oncegate api`: the REST interface and the status page."""

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.common.options import (
    ConfigOption,
    DataDirOption,
    QuietOption,
    TenantOption,
    VerboseOption,
    configuration_of,
)
from gateway.cli.services.prepared import PreparedApi

if TYPE_CHECKING:
    from api.alarms.conditions.thresholds import Thresholds
    from api.settings import ApiSettings
    from gateway.configuration import Configuration

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
    configuration = configuration_of(
        config, tenant=tenant, gateway__data_dir=data_dir, api__port=port
    )
    return PreparedApi(settings=_settings_of(configuration), verbose=verbose, quiet=quiet)


def _settings_of(configuration: "Configuration") -> "ApiSettings":
    from api.login.roles import ROLES_BY_WORD
    from api.settings import ApiSettings
    from gateway.cli.services.page_certificate import certificate_of

    page, gateway = configuration.api, configuration.gateway
    return ApiSettings(
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
        thresholds=_thresholds_of(configuration),
    )


def _thresholds_of(configuration: "Configuration") -> "Thresholds":
    from api.alarms.conditions.thresholds import Thresholds

    alarms = configuration.alarms
    return Thresholds(
        disk_free_share=alarms.disk_free,
        clock_seconds=alarms.clock_unsynchronised,
        upload_backlog_bytes=alarms.upload_backlog,
        temperature_celsius=alarms.temperature,
        card_life_years=alarms.card_life,
        wrong_passwords=alarms.wrong_passwords,
    )
