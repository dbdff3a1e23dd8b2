"""`oncegate tls`: creates certificates for a gateway and its clients, with a private authority."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.common.failures import CommandFailed
from gateway.process.files.disk_errors import line_of

if TYPE_CHECKING:
    from gateway.cli.access.authority import Authority

application = typer.Typer(
    help="Create certificates for TLS with a private authority, and revoke them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
DirectoryArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="Directory of the certificates.")
]

DAYS_DEFAULT = 730
"""Validity of new certificates: two years, below the limit of 825 days that some systems have."""


NameOption = Annotated[
    list[str] | None,
    typer.Option(
        "--name",
        metavar="HOST",
        help="Host name or address by which clients reach the gateway, in addition to those "
        "that this machine knows. May be given several times.",
    ),
]
ClientOption = Annotated[
    list[str] | None,
    typer.Option(
        "--client",
        metavar="NAME",
        help="Create a certificate for a client. NAME becomes its user name. May be given "
        "several times.",
    ),
]
DaysOption = Annotated[
    int, typer.Option("--days", help="Validity of the certificates in days.", min=1, max=3649)
]


@application.command()
def init(
    directory: DirectoryArgument,
    name: NameOption = None,
    client: ClientOption = None,
    days: DaysOption = DAYS_DEFAULT,
) -> None:
    """Create a private authority, a certificate for the gateway, and certificates for clients.

    Existing files are kept. Another call creates only what is missing, such as
    another client's certificate. To renew a certificate, move its .pem file
    away first; the key is kept. DIR/authority contains the key that can sign a
    certificate for any client. Store it elsewhere when you are done.

    Examples:

        oncegate tls init /etc/oncegate/tls --name gateway.example --client cellar

        oncegate tls init /etc/oncegate/tls --client roof
    """
    from gateway.cli.access.authority import Authority, AuthorityError, names_of_this_machine

    authority = Authority(directory)
    clients = client or []
    names = list(dict.fromkeys([*(name or []), *names_of_this_machine()]))
    try:
        for each in clients:
            authority.client(each)
        if authority.make(f"Oncegate authority of {names[0]}"):
            print(f"made {authority.ca}, the authority: clients need it")
        if authority.issue_server(names, days):
            print(f"made {authority.server[0]} for {', '.join(names)}")
        for each in clients:
            made = authority.issue_client(each, days)
            certificate, key = authority.client(each)
            print(f"{'made' if made else 'there is'} {certificate}, and {key.name} beside it")
    except (AuthorityError, OSError) as error:
        raise CommandFailed(line_of(error)) from None
    _explain(authority, names[0], clients)


@application.command()
def revoke(
    directory: DirectoryArgument,
    client: Annotated[str, typer.Argument(metavar="NAME", help="Name of the client.")],
) -> None:
    """Revoke a client's certificate.

    The broker then rejects the certificate and closes the client's connection.
    It reads DIR/crl.pem once a minute, and on `oncegate ctl reload`.

    Example:

        oncegate tls revoke /etc/oncegate/tls cellar
    """
    from gateway.cli.access.authority import Authority, AuthorityError

    authority = Authority(directory)
    try:
        authority.revoke(client)
    except (AuthorityError, OSError) as error:
        raise CommandFailed(line_of(error)) from None
    print(f"revoked {client}: {authority.crl} lists it")


def _explain(authority: "Authority", host: str, clients: list[str]) -> None:
    """Print the lines to add to the configuration, and a command that tests the connection."""
    certificate, key = authority.server
    lines = ["", "# In gateway.toml:", "[[listeners]]", 'bind = "0.0.0.0"']
    if not clients:
        # Before [listeners.tls]: every key after that line would belong to the certificate's table.
        lines += ["# Clients log in with passwords: also set [access] password_file."]
        lines += ["anonymous = false"]
    lines += ["[listeners.tls]", f'certificate = "{certificate}"', f'key = "{key}"']
    trying = f"mosquitto_pub --cafile {authority.ca} -h {host} -p 8883"
    if clients:
        lines += [f'ca = "{authority.ca}"', f'crl = "{authority.crl}"']
        lines += ['client_certificates = "required"']
        own, own_key = authority.client(clients[0])
        trying += f" --cert {own} --key {own_key}"
    lines += ["", "# Let the broker's user read the key, where that is not you:"]
    lines += [
        f"#   chown oncegate-broker {key}",
        "# Then try it:",
        f"#   {trying} -t test -m hello",
    ]
    print("\n".join(lines))
