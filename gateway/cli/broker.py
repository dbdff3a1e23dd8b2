"""`oncegate broker`: the MQTT broker."""

from typing import TYPE_CHECKING

from gateway.cli.options import (
    ConfigOption,
    DataDirOption,
    ListenOption,
    QuietOption,
    VerboseOption,
    configuration_of,
    read_configuration,
)

if TYPE_CHECKING:
    from gateway.configuration import Configuration

LISTENER_MEND = "choose another with --listen HOST:PORT, [[listeners]] port or ONCEGATE_LISTENERS"


def broker(
    config: ConfigOption = None,
    listen: ListenOption = None,
    data_dir: DataDirOption = None,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run the MQTT broker until SIGTERM or Ctrl-C.

    What it has acknowledged is on the disk. It needs no configuration file.

    Examples:

        oncegate broker

        oncegate broker --listen 127.0.0.1:1884 --data-dir /tmp/gateway

        oncegate broker --config /etc/oncegate/gateway.toml
    """
    from gateway.cli.ports import free_port
    from gateway.cli.processes import say_ready, serve_until_stopped

    configuration = configuration_of(config, listen=listen, gateway__data_dir=data_dir)
    for door in configuration.listeners:
        if door.path is None:
            free_port(door.bind, door.port, what="the broker", mend=LISTENER_MEND)

    from gateway.access.passwords import PasswordFileError
    from gateway.configuration import ConfigurationError
    from gateway.server.committer import StoreFailed
    from gateway.server.main import serve
    from gateway.store.database import DataDirectoryInUse

    def read_again() -> "Configuration":
        return read_configuration(config, listen=listen, gateway__data_dir=data_dir)

    serve_until_stopped(
        "broker",
        lambda stop: serve(configuration, stop, say_ready, read_again),
        verbose=verbose,
        quiet=quiet,
        data_dir=configuration.gateway.data_dir,
        refusals=(ConfigurationError, DataDirectoryInUse, PasswordFileError, StoreFailed),
    )
