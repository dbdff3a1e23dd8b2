"""`oncegate upload`: the session log's exporter and uploader."""

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.options import (
    ConfigOption,
    DataDirOption,
    QuietOption,
    VerboseOption,
    configuration_of,
)

if TYPE_CHECKING:
    from gateway.configuration import Configuration
    from gateway.history.settings import HistorySettings


def upload(
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="URL", help="Where segments go: DATA_DIR/uploaded"),
    ] = None,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write the session log into sealed segments and upload them.

    A segment is never changed once it is sealed; uploading it twice changes nothing.

    Examples:

        oncegate upload

        oncegate upload --target s3://my-bucket/gateways
    """
    from gateway.cli.processes import report_ready, serve_until_stopped
    from gateway.service import Service

    configuration = configuration_of(config, gateway__data_dir=data_dir, upload__target=target)

    from gateway.history.main import LogInUse, serve
    from gateway.store.journal_reader import JournalReader

    settings = history_settings_of(configuration)
    journal = JournalReader(configuration.gateway.data_dir)
    service = Service()
    serve_until_stopped(
        "upload",
        lambda stop: serve(
            settings, journal.blobs_after, stop, lambda: report_ready(service), service.alive
        ),
        verbose=verbose,
        quiet=quiet,
        data_dir=settings.data_dir,
        refusals=(LogInUse,),
    )


def history_settings_of(configuration: "Configuration") -> "HistorySettings":
    """The session log's part of the configuration."""
    from gateway.configuration import gateway_id
    from gateway.history.settings import HistorySettings

    return HistorySettings(
        gateway=gateway_id(configuration),
        data_dir=configuration.gateway.data_dir,
        control_socket=configuration.gateway.control_socket,
        target=configuration.upload_target,
        payload_topics=configuration.session_log.payload_topics,
        seal_after_seconds=configuration.session_log.seal_after,
        sent_bytes_keep=configuration.upload.sent_keep,
    )
