"""`oncegate check-config`: says whether a configuration can be used, before anything is
restarted."""

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.configuration_file import file_of
from gateway.cli.failures import EXIT_CONFIGURATION, CommandFailed
from gateway.cli.options import ConfigOption, JsonOption, configuration_of
from gateway.cli.output import show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from gateway.configuration import Configuration


def check_config(
    config: ConfigOption = None,
    show_keys: Annotated[
        bool, typer.Option("--show", help="Print every key with the value that counts.")
    ] = False,
    as_json: JsonOption = False,
    schema_only: Annotated[
        bool,
        typer.Option(
            "--schema", help="Check nothing: print the JSON Schema of the file, for an editor."
        ),
    ] = False,
) -> None:
    """Check the configuration file, the environment and the password files they name.

    Each mistake is one line with the file, the key, the value and what is allowed. With --json,
    every key is printed.

    Examples:

        oncegate check-config --config gateway.toml

        ONCEGATE_MQTT_MAX_INFLIGHT=64 oncegate check-config --show

        oncegate check-config --json

        oncegate check-config --schema > gateway.schema.json
    """
    if schema_only:
        _print_schema()
        return

    from gateway.cli.bridge import bridge_settings_of
    from gateway.configuration.description import tables

    configuration = configuration_of(config)
    bridge_settings_of(configuration)
    rules = _rights_of(configuration)
    file = file_of(config)
    place = None if file is None else str(file)
    verdict = f"{place or 'the built-in configuration'}: can be used"
    show(
        {"file": place, "configuration": tables(configuration), "rules": rules},
        lambda _: _table_of(configuration, verdict) if show_keys else f"{verdict}\n{rules}",
        as_json=as_json,
    )


def _rights_of(configuration: "Configuration") -> str:
    """Check the users and the access rules; return what holds, in a sentence."""
    from gateway.access.default_rules import NAME
    from gateway.access.passwords import PasswordFile, PasswordFileError
    from gateway.access.rules_file import RulesFileError
    from gateway.server.rights import rules_of

    problems: list[str] = []
    if configuration.access.password_file is not None:
        try:
            PasswordFile.load(configuration.access.password_file)
        except PasswordFileError as error:
            problems.append(str(error))
    try:
        rules = rules_of(configuration)
    except RulesFileError as error:
        problems += error.problems
    if problems:
        raise CommandFailed(problems, exit_code=EXIT_CONFIGURATION)
    if rules is None:
        return "no rules file: every client may publish and subscribe to everything"
    if rules.file.name == NAME:
        return (
            "no rules file: users have users/NAME/# and read sensors/#, which the bridge alone "
            "writes (oncegate acl show)"
        )
    return f"{rules.file.name}: {len(rules.file.rules)} access rules"


def _print_schema() -> None:
    import json

    from firmware_bridge.protocols.table import PROTOCOLS

    from gateway.configuration.schema import schema

    print(json.dumps(schema(PROTOCOLS), indent=1))


def _table_of(configuration: "Configuration", verdict: str) -> "RenderableType":
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from gateway.configuration.description import keys

    table = Table("key", "value", box=box.SIMPLE)
    for key in keys(configuration):
        table.add_row(Text(key.name), Text(key.text), style=None if key.is_set else "dim")
    return Group(table, Text(verdict, no_wrap=True, overflow="ignore"))
