"""`oncegate uplink`: the connection to an upstream broker."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.common.broker_login import password_of, tls_files_of
from gateway.cli.common.failures import EXIT_CONFIGURATION, EXIT_FAILED, CommandFailed
from gateway.cli.common.options import (
    ConfigOption,
    DataDirOption,
    QuietOption,
    TenantOption,
    VerboseOption,
    configuration_of,
)
from gateway.cli.services.prepared import PreparedUplink
from gateway.process.files.disk_errors import line_of

if TYPE_CHECKING:
    from gateway.configuration import Configuration
    from gateway.uplink.settings import Endpoint, UplinkSettings

ID_FILE = "gateway-id"
ID_CHARACTERS_MAX = 128
LOCAL_CLIENT_ID = "oncegate-uplink"
NOT_CONFIGURED = "no [uplink] address is configured: there is no upstream broker to carry to"


def uplink(
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Only check that an uplink is configured. The exit code is 1 if it is not.",
        ),
    ] = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    tenant: TenantOption = None,
) -> PreparedUplink | None:
    """Carry messages between this gateway's broker and an upstream broker, exactly once at QoS 2.

    A message from one broker is stored on disk before it is acknowledged to
    that broker. It is deleted when the other broker has accepted it.

    Examples:

        oncegate uplink --config gateway.toml

        ONCEGATE_UPLINK_ADDRESS=broker.example:1883 ONCEGATE_UPLINK_TOPICS='[{filter="sensors/#"}]'
        oncegate uplink
    """
    configuration = configuration_of(config, tenant=tenant, gateway__data_dir=data_dir)
    if configuration.uplink.address is None:
        exit_code = EXIT_FAILED if check else EXIT_CONFIGURATION
        raise CommandFailed(NOT_CONFIGURED, exit_code=exit_code)
    if check:
        return None
    settings = uplink_settings_of(configuration, own_id_of(configuration))
    return PreparedUplink(settings=settings, verbose=verbose, quiet=quiet)


def own_id_of(configuration: "Configuration") -> str:
    """Return the gateway's id. For a tenant's uplink, the tenant's name is appended.

    The id comes from the key `[gateway] id`, from the systemd credential `gateway-id`, or from
    the broker's file. The user account of a systemd service cannot read the broker's file, so the
    service needs the credential. Raises OSError if the id cannot be read.
    """
    from gateway.configuration.identity import gateway_id, with_tenant
    from gateway.configuration.sections import GATEWAY_ID

    credentials = os.environ.get("CREDENTIALS_DIRECTORY")
    if configuration.gateway.id is None and credentials is not None:
        with (Path(credentials) / ID_FILE).open(encoding="ascii", errors="replace") as file:
            given = file.read(ID_CHARACTERS_MAX).strip()
        if re.fullmatch(GATEWAY_ID, given):
            return with_tenant(given, configuration)
    return with_tenant(gateway_id(configuration), configuration)


def uplink_settings_of(configuration: "Configuration", own_id: str) -> "UplinkSettings":
    """Return the uplink's settings from a configuration that has `[uplink] address`.

    Raises CommandFailed if a setting is invalid.
    """
    from gateway.uplink.routes import Route
    from gateway.uplink.settings import UplinkSettings

    section = configuration.uplink
    try:
        return UplinkSettings(
            data_dir=configuration.gateway.data_dir,
            gateway_id=own_id,
            local=_local_endpoint_of(configuration),
            remote=_remote_endpoint_of(configuration, own_id),
            routes=tuple(
                Route(
                    filter=topic.filter,
                    direction=topic.direction,
                    qos=topic.qos,
                    local_prefix=topic.local_prefix,
                    remote_prefix=topic.remote_prefix,
                )
                for topic in section.topics
            ),
            control_socket=configuration.gateway.control_socket,
            queue_bytes_max=section.queue_max,
            window=configuration.uplink_window,
            packet_bytes_max=configuration.mqtt.max_packet_size,
        )
    except ValueError as error:
        raise CommandFailed(line_of(error), exit_code=EXIT_CONFIGURATION) from None


def mistakes_in_files_of(configuration: "Configuration") -> Iterator[str]:
    """Yield the errors in the password files and certificates that `[uplink]` names."""
    from gateway.process.mqtt_client.tls import context_of

    if configuration.uplink.address is None:
        return
    try:
        settings = uplink_settings_of(configuration, "any")
        if settings.remote.tls is not None:
            context_of(settings.remote.tls)
    except CommandFailed as error:
        yield from error.lines
    except OSError as error:
        yield f"[uplink] tls: {line_of(error)}"


def _local_endpoint_of(configuration: "Configuration") -> "Endpoint":
    from gateway.uplink.settings import Endpoint

    section = configuration.uplink
    host, port = configuration.uplink_local_address
    return Endpoint(
        host=host,
        port=port,
        client_id=LOCAL_CLIENT_ID,
        username=section.local_username,
        password=password_of(section.local_password_file, "[uplink] local_password_file"),
        fix="[uplink] local_username and local_password_file",
    )


def _remote_endpoint_of(configuration: "Configuration", own_id: str) -> "Endpoint":
    from gateway.configuration.addresses import host_and_port_of
    from gateway.uplink.settings import SESSION_NEVER_EXPIRES, Endpoint

    section = configuration.uplink
    assert section.address is not None, "there is an uplink"
    host, port = host_and_port_of(section.address)
    expiry = section.session_expiry
    return Endpoint(
        host=host,
        port=port,
        client_id=section.client_id or f"oncegate-{own_id}",
        version=5 if section.protocol == 5 else 4,
        username=section.username,
        password=password_of(section.password_file, "[uplink] password_file"),
        tls=tls_files_of(section.tls),
        session_expiry_seconds=SESSION_NEVER_EXPIRES if expiry is None else int(expiry),
        availability_topic=section.availability_topic,
    )
