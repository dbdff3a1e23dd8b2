"""Creates the user source for a database, as configured in `[access.mysql]`.

The database driver is in an optional package.
"""

import ssl
from pathlib import Path

from gateway.broker.access.errors import AccessFileError
from gateway.broker.access.users.column_hashes import HashRules
from gateway.broker.access.users.database import DatabaseUsers, Query
from gateway.broker.access.users.queries import Database, Server
from gateway.configuration.addresses import host_and_port_of
from gateway.configuration.mysql import Mysql
from gateway.process.files.disk_errors import line_of
from gateway.process.files.private import SecretExposed, first_line_of

PASSWORD_BYTES_MAX = 4_096


def database_users_of(mysql: Mysql) -> DatabaseUsers:
    """Return the user source for `[access.mysql]`.

    Raises AccessFileError if the database password file or the CA file cannot be used.
    """
    host, port = (None, 3306) if mysql.server is None else host_and_port_of(mysql.server)
    server = Server(
        host=host,
        port=port,
        socket=None if mysql.socket is None else str(mysql.socket),
        user=mysql.user,
        password="" if mysql.password_file is None else _password_in(mysql.password_file),
        database=mysql.database,
        tls=None if mysql.ca is None else _tls_of(mysql.ca),
    )
    return DatabaseUsers(
        Database(server, mysql.timeout),
        Query.of(mysql.query),
        HashRules(mysql.hash, mysql.salt_position, mysql.iterations or 0),
        connections=mysql.connections,
        cache_seconds=mysql.cache,
        when_down=mysql.when_down,
    )


def _password_in(path: Path) -> str:
    key = "[access.mysql] password_file"
    try:
        line = first_line_of(path, PASSWORD_BYTES_MAX)
    except SecretExposed as error:
        raise AccessFileError(f"{key}: {error}") from None
    except UnicodeDecodeError:
        raise AccessFileError(f"{key}: {path}: is not UTF-8") from None
    except OSError as error:
        raise AccessFileError(f"{key}: {path}: {error.strerror}") from None
    if not 1 <= len(line.encode()) <= PASSWORD_BYTES_MAX:
        allowed = f"expected a first line of 1 to {PASSWORD_BYTES_MAX} bytes"
        raise AccessFileError(f"{key}: {path}: {allowed}")
    return line


def _tls_of(ca: Path) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=str(ca))
    except OSError as error:
        detail = f"no certificates of authorities: {line_of(error)}"
        raise AccessFileError(f"[access.mysql] ca: {ca}: {detail}") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
