"""Options shared by several subcommands, and functions that read the selected configuration."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from gateway.cli.common.configuration_file import FILE_VARIABLE, INSTALLED_FILE, read_configuration
from gateway.cli.common.failures import EXIT_CONFIGURATION, CommandFailed

if TYPE_CHECKING:
    from gateway.configuration import Configuration

Result = TypeVar("Result")

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help=f"Configuration file. Default: ${FILE_VARIABLE}, else {INSTALLED_FILE}.",
    ),
]
DataDirOption = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", metavar="DIR", help="Directory of the gateway's data. Default: ./var."
    ),
]
ListenOption = Annotated[
    str | None,
    typer.Option(
        "--listen",
        metavar="HOST:PORT",
        help="Address at which the broker listens, like 127.0.0.1:1883. Port 0 takes any "
        "free port.",
    ),
]
TenantOption = Annotated[
    str | None,
    typer.Option("--tenant", metavar="NAME", help="Name of a tenant. Default: the gateway itself."),
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Log every step, to help find a fault.")
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object, for programs (docs/commands.md)."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Log only warnings and errors.")]
TablesOption = Annotated[
    str | None,
    typer.Option(
        "--tables",
        metavar="URI",
        help="Directory or URL of the Delta tables. Default: DATA_DIR/tables.",
    ),
]


@dataclass(frozen=True, slots=True)
class GatewayOptions:
    """Options that select a gateway's configuration and data, and the output format."""

    config: ConfigOption = None
    data_dir: DataDirOption = None
    as_json: JsonOption = False
    tenant: TenantOption = None

    def configuration(self) -> "Configuration":
        """Read the selected configuration. Raises CommandFailed if it is invalid."""
        return configuration_of(self.config, tenant=self.tenant, gateway__data_dir=self.data_dir)


@dataclass(frozen=True, slots=True)
class TablesOptions:
    """Options that select the tables written by `oncegate ingest`, and the output format."""

    config: ConfigOption = None
    data_dir: DataDirOption = None
    tables: TablesOption = None
    as_json: JsonOption = False

    @property
    def root(self) -> str:
        """Directory or URL of the tables. Raises CommandFailed if the configuration is invalid."""
        if self.tables is not None:
            return self.tables
        return tables_of(configuration_of(self.config, gateway__data_dir=self.data_dir))


def with_sets(command: Callable[..., Result]) -> Callable[..., Result]:
    """Decorate a subcommand whose parameters include sets of options, such as `GatewayOptions`.

    Each field of a set becomes an option of the subcommand. Typer alone would make one option from
    the whole set.
    """
    sets: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        annotation = parameter.annotation
        if not is_dataclass(annotation):
            parameters.append(parameter)
            continue
        assert isinstance(annotation, type)
        sets[parameter.name] = annotation
        parameters += [
            inspect.Parameter(each.name, parameter.kind, default=each.default, annotation=each.type)
            for each in fields(annotation)
        ]

    @functools.wraps(command)
    def with_options(**given: object) -> Result:
        made = {
            name: options(**{each.name: given.pop(each.name) for each in fields(options)})
            for name, options in sets.items()
        }
        return command(**given, **made)

    signature = inspect.Signature(parameters)
    with_options.__signature__ = signature  # type: ignore[attr-defined]
    with_options.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_options


def configuration_of(
    config: Path | None, *, tenant: str | None = None, **overrides: object
) -> "Configuration":
    """Read the configuration of the gateway or a tenant for a subcommand.

    `overrides` has the same meaning as in `read_configuration`. Raises CommandFailed with one line
    for each mistake.
    """
    from gateway.configuration import ConfigurationError

    try:
        return read_configuration(config, tenant=tenant, **overrides)
    except ConfigurationError as error:
        raise CommandFailed(error.problems, exit_code=EXIT_CONFIGURATION) from None


def tables_of(configuration: "Configuration") -> str:
    """Return the default location of the tables: the directory `tables` in the data directory."""
    return str(configuration.gateway.data_dir.absolute() / "tables")
