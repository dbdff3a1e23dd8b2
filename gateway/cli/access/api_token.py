"""`oncegate api-token`: access tokens for programs that use the REST interface."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway.cli.common.failures import EXIT_CONFIGURATION, CommandFailed
from gateway.cli.common.options import ConfigOption, JsonOption, TenantOption, configuration_of
from gateway.cli.common.output import show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from gateway.process.files.token_file import Token

application = typer.Typer(
    help="Tokens of programs that use the REST interface: add, list, remove.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
NameArgument = Annotated[str, typer.Argument(help="Name of the program, for the file and the log.")]
FileOption = Annotated[
    Path | None,
    typer.Option(
        "--file", metavar="FILE", help="Tokens file. Default: tokens_file in the section api."
    ),
]
RoleWord = Literal["viewer", "operator", "administrator"]


@application.command()
def add(
    name: NameArgument,
    role: Annotated[RoleWord, typer.Option("--role", help="Role of the program.")] = "viewer",
    file: FileOption = None,
    config: ConfigOption = None,
    tenant: TenantOption = None,
) -> None:
    """Create a token and print it.

    The token is the last line of the output. It cannot be shown again, because
    only its hash is stored. The status page accepts a new token within a second.

    Examples:

        oncegate api-token add dashboard --file /etc/oncegate/api-tokens

        TOKEN=$(oncegate api-token add dashboard | tail -n 1)
    """
    import datetime

    from gateway.process.files.token_file import TokensFileError, new_token

    path = _file_of(file, config, tenant)
    tokens = _tokens_in(path, missing_is_empty=True)
    if any(token.name == name for token in tokens):
        taken = f"there is a token {name!a} already: remove it first, or take another name"
        raise CommandFailed(f"{path}: {taken}")
    today = datetime.datetime.now(datetime.UTC).date()
    try:
        text, token = new_token(name, role, today.isoformat())
    except TokensFileError as error:
        raise CommandFailed(str(error)) from None
    is_new = not path.exists()
    _write(path, [*tokens, token])
    _report("api_token_added", f"{name} ({role})", config, tenant)
    print(f"added: {name} ({role}) in {path}")
    if is_new:
        print(f"# Let the page's user read it: chgrp oncegate-api {path}")
    print("# Shown this once; programs send it as: Authorization: Bearer TOKEN")
    print(text)


@application.command("list")
def list_tokens(
    file: FileOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    tenant: TenantOption = None,
) -> None:
    """List the tokens with their names, roles and creation dates.

    The tokens themselves cannot be shown again.

    Example:

        oncegate api-token list
    """
    path = _file_of(file, config, tenant)
    tokens = _tokens_in(path, missing_is_empty=False)
    document = {
        "file": str(path),
        "tokens": [{"name": each.name, "role": each.role, "made": each.made} for each in tokens],
    }
    show(document, lambda _: _table_of(tokens), as_json=as_json)


@application.command()
def remove(
    name: NameArgument,
    file: FileOption = None,
    config: ConfigOption = None,
    tenant: TenantOption = None,
) -> None:
    """Revoke a token by removing it from the tokens file.

    The status page stops accepting the token within a second.

    Example:

        oncegate api-token remove dashboard
    """
    path = _file_of(file, config, tenant)
    tokens = _tokens_in(path, missing_is_empty=False)
    kept = [token for token in tokens if token.name != name]
    if len(kept) == len(tokens):
        raise CommandFailed(f"{path}: there is no token {name!a}")
    _write(path, kept)
    _report("api_token_removed", name, config, tenant)
    print(f"removed: {name} from {path}")


def _report(action: str, name: str, config: Path | None, tenant: str | None) -> None:
    """Ask the broker to record a change to the tokens as an event in the session log.

    `action` names the change, such as `api_token_added`. `name` is the token's name, and can be
    followed by its role. If the broker does not record the change, print a note.
    """
    from gateway.cli.control.client import ask

    try:
        control_socket = configuration_of(config, tenant=tenant).gateway.control_socket
        ask(control_socket, "operated", action=action, name=name)
    except CommandFailed as failure:
        print(f"# The session log has no event of this change: {failure}")


def _file_of(file: Path | None, config: Path | None, tenant: str | None) -> Path:
    if file is not None:
        return file
    configured = configuration_of(config, tenant=tenant).api.tokens_file
    if configured is None:
        raise CommandFailed(
            "no file of tokens: name it with --file, or in the configuration as [api] tokens_file",
            exit_code=EXIT_CONFIGURATION,
        )
    return configured


def _tokens_in(path: Path, *, missing_is_empty: bool) -> "list[Token]":
    from gateway.process.files.token_file import TokensFileError, read_tokens

    if missing_is_empty and not path.exists():
        return []
    try:
        return read_tokens(path)
    except TokensFileError as error:
        raise CommandFailed(str(error)) from None


def _write(path: Path, tokens: "Sequence[Token]") -> None:
    """Replace the contents of the tokens file.

    Raises CommandFailed if there are too many tokens, and OSError if writing fails.
    """
    from gateway.process.files.token_file import TokensFileError, write_tokens

    try:
        write_tokens(path, tokens)
    except TokensFileError as error:
        raise CommandFailed(str(error)) from None


def _table_of(tokens: "Sequence[Token]") -> "RenderableType":
    from rich import box
    from rich.table import Table

    table = Table("name", "role", "made", box=box.SIMPLE)
    for token in tokens:
        table.add_row(token.name, token.role, token.made)
    return table
