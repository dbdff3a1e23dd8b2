"""`oncegate upload`: exports and uploads the session log."""

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
from gateway.cli.services.prepared import PreparedUpload

if TYPE_CHECKING:
    from gateway.configuration import Configuration
    from gateway.uploader.settings import SessionLogSettings


def upload(
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="URL",
            help="URL to which segments are uploaded. Default: DATA_DIR/uploaded.",
        ),
    ] = None,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    tenant: TenantOption = None,
) -> PreparedUpload:
    """Export the session log to sealed segments and upload them.

    A sealed segment is a file that never changes. Uploading it again has no
    effect.

    Examples:

        oncegate upload

        oncegate upload --target s3://my-bucket/gateways
    """
    configuration = configuration_of(
        config, tenant=tenant, gateway__data_dir=data_dir, upload__target=target
    )
    return PreparedUpload(
        settings=session_log_settings_of(configuration), verbose=verbose, quiet=quiet
    )


def session_log_settings_of(configuration: "Configuration") -> "SessionLogSettings":
    """Return the session log's settings from the configuration."""
    from gateway.configuration import log_identity
    from gateway.uploader.settings import SessionLogSettings

    return SessionLogSettings(
        gateway=log_identity(configuration),
        data_dir=configuration.gateway.data_dir,
        control_socket=configuration.gateway.control_socket,
        target=configuration.upload_target,
        payload_topics=configuration.session_log.payload_topics,
        seal_after_seconds=configuration.session_log.seal_after,
        sent_bytes_keep=configuration.upload.sent_keep,
        sent_files_keep=configuration.upload.sent_keep_files,
        checksum_header=configuration.upload.checksum_header,
    )
