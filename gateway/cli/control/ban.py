"""`oncegate ctl ban`: bans clients, users and addresses, so that the broker rejects them."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.common.failures import EXIT_CONFIGURATION, CommandFailed
from gateway.cli.common.options import GatewayOptions, with_sets
from gateway.cli.common.output import show
from gateway.cli.services.uplink import LOCAL_CLIENT_ID

if TYPE_CHECKING:
    from rich.table import Table

    from gateway.configuration import Configuration

application = typer.Typer(
    help="Ban clients, users and addresses: add, list, lift.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
ClientOption = Annotated[
    str | None,
    typer.Option("--client", metavar="ID", help="Client id, as shown by `oncegate ctl sessions`."),
]
UserOption = Annotated[str | None, typer.Option("--user", metavar="NAME", help="User name.")]
AddressOption = Annotated[
    str | None,
    typer.Option("--address", metavar="ADDRESS", help="IP address, or a network like 10.0.0.0/8."),
]
VALUE_COLUMNS = 18
"""Minimum width of the value column in the list of bans. An IPv4 network fits into it."""

NOT_KEPT = (
    "The change could not be written to disk, and is lost when the broker stops: see its log."
)


@application.command()
@with_sets
def add(
    *,
    client: ClientOption = None,
    user: UserOption = None,
    address: AddressOption = None,
    reason: Annotated[
        str,
        typer.Option(
            "--reason", help="Reason, shown in the list and the log, and sent to MQTT 5.0 clients."
        ),
    ] = "",
    duration: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="TIME", help='Duration, like "1h". Default: until the ban is lifted.'
        ),
    ] = None,
    gateway: GatewayOptions,
) -> None:
    """Ban a client, a user or an address, and close its connections.

    Example:

        oncegate ctl ban add --address 192.0.2.0/24 --for 1h --reason "scans us"
    """
    request = _subject_of(client, user, address) | {"reason": reason}
    if duration is not None:
        request["seconds"] = _seconds_of(duration)
    answer = _ask(gateway, "ban", request)
    consequences = _consequences(
        gateway.configuration(), str(request["kind"]), str(request["value"])
    )
    show(answer, lambda found: _banned_lines(found, consequences), as_json=gateway.as_json)


@application.command("list")
@with_sets
def list_bans(
    gateway: GatewayOptions,
) -> None:
    """List the active bans, oldest first.

    Example:

        oncegate ctl ban list
    """
    found: list[Any] = []
    following: object = 0
    while following is not None:
        answer = _ask(gateway, "bans", {"first": following})
        found += answer.get("bans", [])
        following = answer.get("next")
    show({"bans": found}, _table, as_json=gateway.as_json)


@application.command()
@with_sets
def lift(
    *,
    client: ClientOption = None,
    user: UserOption = None,
    address: AddressOption = None,
    gateway: GatewayOptions,
) -> None:
    """Lift a ban.

    Name the client, user or address as in `oncegate ctl ban list`.

    Example:

        oncegate ctl ban lift --address 192.0.2.0/24
    """
    answer = _ask(gateway, "lift_ban", _subject_of(client, user, address))
    show(answer, lambda found: _with_kept("lifted", found), as_json=gateway.as_json)


def _subject_of(client: str | None, user: str | None, address: str | None) -> dict[str, object]:
    given = {"client": client, "user": user, "address": address}
    named = [(kind, value) for kind, value in given.items() if value is not None]
    if len(named) != 1:
        raise CommandFailed(
            "name one of --client, --user and --address", exit_code=EXIT_CONFIGURATION
        )
    kind, value = named[0]
    return {"kind": kind, "value": value}


def _seconds_of(text: str) -> float:
    from pydantic_core import PydanticCustomError

    from gateway.process.declarations.quantities import Duration

    try:
        seconds = Duration(1, 10 * 365 * 86_400).value_of(text)
    except PydanticCustomError as error:
        raise CommandFailed(
            f"--for {text!r}: use {error.message()}", exit_code=EXIT_CONFIGURATION
        ) from None
    assert seconds is not None
    return seconds


def _ask(gateway: GatewayOptions, command: str, request: dict[str, Any]) -> dict[str, Any]:
    from gateway.cli.control.client import ask

    return ask(gateway.configuration().gateway.control_socket, command, **request)


def _banned_lines(answer: dict[str, Any], consequences: list[str]) -> str:
    line = _with_kept("banned", answer)
    return "\n".join([line, f"connections ended: {answer.get('ended')}", *consequences])


def _consequences(configuration: "Configuration", kind: str, value: str) -> list[str]:
    """Return a warning for each of the gateway's own clients (bridge, uplink) that a ban blocks."""
    from gateway.process.control.own_clients import STOPPED_BY_BAN

    bridge, uplink = configuration.bridge, configuration.uplink
    own = {}
    if configuration.reaches_broker:
        host, _ = configuration.broker_address
        own["bridge"] = _applies_to(kind, value, bridge.client_id, bridge.username, host)
    if uplink.address is not None:
        host, _ = configuration.uplink_local_address
        own["uplink"] = _applies_to(kind, value, LOCAL_CLIENT_ID, uplink.local_username, host)
    return [STOPPED_BY_BAN[name] for name, is_stopped in own.items() if is_stopped]


def _applies_to(kind: str, value: str, client_id: str, username: str | None, host: str) -> bool:
    """Return True if a ban applies to the gateway's own bridge or uplink.

    Args:
        kind: what is banned: `client`, `user` or `address`.
        value: the banned client id, user or address.
        client_id: the client's id. The client may append a dash and 8 digits when it connects.
        username: the client's user name at the broker, or None.
        host: address of the broker. This is also the client's address, because the client runs on
            the same machine.
    """
    from gateway.process.control.own_clients import is_in_network

    if kind == "client":
        return value == client_id or value.startswith(f"{client_id}-")
    if kind == "user":
        return value == username
    return is_in_network("127.0.0.1" if host == "localhost" else host, value)


def _with_kept(action: str, answer: dict[str, Any]) -> str:
    ban = answer.get(action, {})
    line = f"{action}: {ban.get('kind')} {ban.get('value')!a}"
    return line if answer.get("kept") else f"{line}\n{NOT_KEPT}"


def _table(answer: dict[str, Any]) -> "Table | str":
    from rich.table import Table
    from rich.text import Text

    if not answer["bans"]:
        return "no bans"
    table = Table("kind", box=None)
    # Never truncated, because a ban is lifted by its value.
    table.add_column("value", overflow="fold", min_width=VALUE_COLUMNS)
    for name in ("reason", "by", "since", "until"):
        table.add_column(name)
    for ban in answer["bans"]:
        cells = [str(ban.get(key, "")) for key in ("kind", "value", "reason", "source")]
        cells += [_time(ban.get("since_ms")), _time(ban.get("until_ms"))]
        # Names are chosen by clients: print them as text, never as markup.
        table.add_row(*[Text(ascii(each)[1:-1]) for each in cells])
    return table


def _time(time_ms: object) -> str:
    if not isinstance(time_ms, int):
        return "it is lifted"
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(time_ms / 1000))
