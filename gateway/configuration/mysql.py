"""Settings for users in a MySQL or MariaDB database: `[access.mysql]`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from gateway.configuration.addresses import FilePath, HostAndPort
from gateway.process.declarations.quantities import Duration, Text, Whole, refusal
from gateway.process.declarations.section import Section

PLACEHOLDERS = ("username", "clientid", "peerhost", "certificate", "listener")
"""Names for `${...}` in a query. Where EMQX has the same placeholder, the name is the same."""

DEFAULT_QUERY = "SELECT username, password_hash FROM mqtt_user WHERE username = ${username} LIMIT 1"

_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
_NAME = Text(r"[^\x00]{1,128}", "a text of 1 to 128 characters")


@dataclass(frozen=True, kw_only=True)
class Mysql(Section):
    """Authentication of users with a MySQL or MariaDB database."""

    descriptions: ClassVar[Mapping[str, str]] = {
        "server": "TCP address of the database. Set either server or socket.",
        "socket": "Unix socket of a database on this machine. Set either server or socket.",
        "user": "Database user with which the broker logs in.",
        "password_file": "File whose first line is the database user's password.",
        "database": "Database in which the query runs.",
        "query": "Query for password_hash of one user, and for username, salt and user_groups.",
        "hash": "Hash algorithm of passwords, if the form of the hash does not show it.",
        "salt_position": "Position of the salt, for sha256 and sha512.",
        "iterations": "Number of iterations, for pbkdf2-sha256 and pbkdf2-sha512.",
        "ca": "PEM file of the authorities that are trusted for the database. TLS is then "
        "required.",
        "connections": "Maximum number of concurrent queries.",
        "timeout": "Maximum time for a query, including the connection.",
        "cache": "Time for which a row is cached.",
        "when_down": "Behaviour at a login when the database does not respond.",
    }

    server: Annotated[str, HostAndPort()] | None = None
    socket: Annotated[Path, FilePath()] | None = None
    user: Annotated[str, _NAME]
    password_file: Annotated[Path, FilePath()] | None = None
    database: Annotated[str, _NAME]
    query: Annotated[str, Text(r"[^\x00]{1,4096}", "a SELECT")] = DEFAULT_QUERY
    hash: Literal["by_form", "sha256", "sha512", "pbkdf2-sha256", "pbkdf2-sha512"] = "by_form"
    salt_position: Literal["before", "after", "none"] = "before"
    iterations: Annotated[int, Whole(1, 400_000)] | None = None
    ca: Annotated[Path, FilePath()] | None = None
    connections: Annotated[int, Whole(1, 64)] = 4
    timeout: Annotated[float, Duration(0.1, 60)] = 5.0
    cache: Annotated[float, Duration(0, 3600)] = 10.0
    when_down: Literal["refuse", "next"] = "refuse"

    def check(self) -> None:
        if (self.server is None) == (self.socket is None):
            raise refusal("either server or socket")
        if self.ca is not None and self.server is None:
            raise refusal("no ca with socket: its bytes do not leave this machine")
        names = _PLACEHOLDER.findall(self.query)
        known = ", ".join(f"${{{name}}}" for name in PLACEHOLDERS)
        for name in names:
            if name not in PLACEHOLDERS:
                raise refusal(f"known placeholders in query, {known}")
        if "username" not in names and "certificate" not in names:
            raise refusal("${username} in query: it has to select one user")
        if re.search(r"""['"`]\s*\$\{""", self.query):
            raise refusal("no quotes around a placeholder in query: the value is sent separately")
        if self.hash.startswith("pbkdf2") != (self.iterations is not None):
            raise refusal("iterations with a pbkdf2 hash, and only then")
