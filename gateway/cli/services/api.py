"""`oncegate api`: the REST interface and the status page."""

from pathlib import Path
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
    from api.status.backup import BackupCommand
    from gateway.configuration import Configuration

PortOption = Annotated[
    int | None, typer.Option("--port", metavar="PORT", help="TCP port of the page. Default: 8080.")
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

    The page reads the broker's state through a read-only socket. It sends
    operators' commands to the broker through a second socket.

    Examples:

        oncegate api

        oncegate api --port 8090 --data-dir /var/lib/oncegate
    """
    configuration = configuration_of(
        config, tenant=tenant, gateway__data_dir=data_dir, api__port=port
    )
    settings = _settings_of(configuration, _backup_command(configuration, data_dir))
    return PreparedApi(settings=settings, verbose=verbose, quiet=quiet)


def _settings_of(configuration: "Configuration", backup: "BackupCommand | None") -> "ApiSettings":
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
        backup=backup,
    )


def _backup_command(
    configuration: "Configuration", data_dir: Path | None
) -> "BackupCommand | None":
    """Return the command that backs up the whole gateway, or None for a tenant's page."""
    import sys

    from api.status.backup import BackupCommand
    from gateway.configuration.named_files import MADE_AT_EACH_START, files_named_in

    if configuration.tenant is not None:
        return None
    options = ["--data-dir", str(data_dir)] if data_dir is not None else []
    named = files_named_in(configuration)
    reads = [path for path in named if not path.is_relative_to(MADE_AT_EACH_START)]
    reads.append(configuration.gateway.data_dir / "log")
    if configuration.file is not None:
        options += ["--config", configuration.file]
        reads.append(Path(configuration.file))
    command = (sys.executable, "-P", "-m", "gateway.cli.main", "backup", "-", *options)
    return BackupCommand(command, tuple(reads))


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
