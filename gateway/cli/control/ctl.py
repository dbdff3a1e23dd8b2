"""`oncegate ctl`: shows the state of the running broker and sends it commands."""

import functools
from collections.abc import Callable
from typing import Annotated, Any

import typer

from gateway.cli.common.options import GatewayOptions, with_sets
from gateway.cli.common.output import show
from gateway.cli.control.ban import application as ban_application

application = typer.Typer(
    help="Query and control the running broker: status, sessions, kick, drop, ban, reload.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
application.add_typer(ban_application, name="ban")
ClientIdArgument = Annotated[
    str, typer.Argument(help="Client id, as shown by `oncegate ctl sessions`.")
]

# Maximum number of sessions in one response of the broker.
PAGE_SESSIONS = 1000


@application.command()
@with_sets
def status(
    gateway: GatewayOptions,
) -> None:
    """Show the state of the broker: listeners, sessions, messages, journal, warnings.

    Example:

        oncegate ctl status
    """
    from gateway.cli.control.tables import status_table

    show(_asker(gateway)("status"), status_table, as_json=gateway.as_json)


@application.command()
@with_sets
def sessions(
    *,
    limit: Annotated[
        int,
        typer.Option("--limit", help="Maximum number of sessions to show.", min=1, max=1_000_000),
    ] = 100,
    gateway: GatewayOptions,
) -> None:
    """List the sessions, connected or not, in the order of their client ids.

    Example:

        oncegate ctl sessions --limit 20
    """
    from gateway.cli.control.tables import sessions_table

    ask = _asker(gateway)
    found: list[object] = []
    after: object = None
    while True:
        page: dict[str, object] = {"limit": min(PAGE_SESSIONS, limit - len(found))}
        answer = ask("sessions", **page, **({} if after is None else {"after": after}))
        found += answer.get("sessions", [])
        after = answer.get("next")
        if after is None or len(found) >= limit:
            break
    show({"sessions": found, "next": after}, sessions_table, as_json=gateway.as_json)


@application.command()
@with_sets
def session(
    client_id: ClientIdArgument,
    gateway: GatewayOptions,
) -> None:
    """Show one session with its subscriptions and messages in flight.

    Example:

        oncegate ctl session oncegate-bridge
    """
    from gateway.cli.control.tables import session_tables

    answer = _asker(gateway)("session", client_id=client_id)
    show(answer, session_tables, as_json=gateway.as_json)


@application.command()
@with_sets
def kick(
    client_id: ClientIdArgument,
    gateway: GatewayOptions,
) -> None:
    """Close a client's connection.

    The session is kept.

    Example:

        oncegate ctl kick probe-7
    """
    answer = _asker(gateway)("kick", client_id=client_id)
    show(answer, lambda _: f"kicked: {client_id!a}", as_json=gateway.as_json)


@application.command()
@with_sets
def drop(
    client_id: ClientIdArgument,
    gateway: GatewayOptions,
) -> None:
    """Delete a session, connected or not, with all its queued messages.

    Example:

        oncegate ctl drop probe-7
    """
    answer = _asker(gateway)("drop", client_id=client_id)
    show(answer, lambda _: f"dropped: {client_id!a}", as_json=gateway.as_json)


@application.command()
@with_sets
def reload(
    gateway: GatewayOptions,
) -> None:
    """Reload the broker's configuration, and print when each change takes effect.

    Some changes take effect immediately, others need a restart. If the new
    configuration is invalid, nothing changes.

    Example:

        oncegate ctl reload
    """
    show(_asker(gateway)("reload"), _reload_lines, as_json=gateway.as_json)


def _reload_lines(answer: dict[str, Any]) -> str:
    lines = [f"changed: {_listed(answer.get('changed')) or 'nothing'}"]
    if answer.get("new_connections"):
        lines.append(f"of these for new connections: {_listed(answer['new_connections'])}")
    if answer.get("connections_ended"):
        lines.append(f"connections ended: {answer['connections_ended']}")
    for process, keys in answer.get("processes", {}).items():
        lines.append(f"needs a restart of oncegate-{process}: {_listed(keys)}")
    if answer.get("needs_restart"):
        lines.append(f"needs a restart of the gateway: {_listed(answer['needs_restart'])}")
    return "\n".join(lines)


def _listed(keys: list[object] | None) -> str:
    return ", ".join(map(str, keys or []))


def _asker(gateway: GatewayOptions) -> Callable[..., dict[str, Any]]:
    from gateway.cli.control.client import ask

    return functools.partial(ask, gateway.configuration().gateway.control_socket)
