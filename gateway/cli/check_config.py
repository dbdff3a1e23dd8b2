"""`oncegate check-config`: says whether a configuration can be used, before anything is
restarted."""

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.configuration_file import file_of
from gateway.cli.failures import EXIT_CONFIGURATION, CommandFailed
from gateway.cli.options import ConfigOption, configuration_of

if TYPE_CHECKING:
    from gateway.configuration import Configuration


def check_config(
    config: ConfigOption = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print every key with the value that counts.")
    ] = False,
) -> None:
    """Check the configuration file, the environment and the password files they name.

    Each mistake is one line with the file, the key, the value and what is allowed.

    Examples:

        oncegate check-config --config gateway.toml

        ONCEGATE_MQTT_MAX_INFLIGHT=64 oncegate check-config --show
    """
    from gateway.access.passwords import PasswordFile, PasswordFileError
    from gateway.cli.bridge import bridge_settings_of

    configuration = configuration_of(config)
    bridge_settings_of(configuration)
    if configuration.access.password_file is not None:
        try:
            PasswordFile.load(configuration.access.password_file)
        except PasswordFileError as error:
            raise CommandFailed(str(error), exit_code=EXIT_CONFIGURATION) from None
    if show:
        _show(configuration)
    file = file_of(config)
    print(f"{file if file is not None else 'the built-in configuration'}: can be used")


def _show(configuration: "Configuration") -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from gateway.configuration.description import keys

    table = Table("key", "value", box=box.SIMPLE)
    for key in keys(configuration):
        table.add_row(Text(key.name), Text(key.text), style=None if key.is_set else "dim")
    Console().print(table)
