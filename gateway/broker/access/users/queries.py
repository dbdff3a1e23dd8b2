"""Queries to a MySQL or MariaDB database, with limits on connections and time.

While the database is known to be down, queries fail without a connection attempt.
"""

import asyncio
import logging
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import asyncmy
from asyncmy.cursors import DictCursor
from asyncmy.errors import MySQLError

logger = logging.getLogger(__name__)

# Not Final, because tests shorten it.
DOWN_SECONDS: float = 5.0
"""Seconds after a failed query during which no further query is sent."""

IDLE_SECONDS_MAX: Final = 60.0
"""Longest idle time of a connection that is reused. Servers and firewalls drop idle connections."""

LOG_SECONDS: Final = 60.0
"""Shortest time between two log lines about failed queries."""

SERVER_ERROR_MIN: Final = 1_000

CLIENT_ERRORS: Final = range(2_000, 3_000)
"""Error codes of the client library: a connection was lost, or could not be opened."""

ENDING_ERRORS: Final = frozenset({1_053, 1_077, 1_079, 1_152, 1_158, 1_159, 1_160, 1_161, 1_184})
"""Error codes of a server that closes the connection, to shut down or after a network error."""

ROWS_MAX: Final = 2
"""Rows to fetch, at most. One row is a user; a second row shows that the query is ambiguous."""

REASON_CHARACTERS_MAX: Final = 300

Row = Mapping[str, object]


class DatabaseDown(Exception):
    """Error raised if the database did not respond to a query. The message states the reason."""


class _StatementRefused(Exception):
    """Error raised if the server cannot execute the statement with the given values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Address of the database server, and the account with which the broker reads users."""

    host: str | None = None
    port: int = 3306
    socket: str | None = None
    user: str
    password: str = field(default="", repr=False)
    database: str
    tls: ssl.SSLContext | None = None


class Database:
    """Connections to one database. The caller limits the number of concurrent queries."""

    def __init__(self, server: Server, timeout_seconds: float) -> None:
        self._server = server
        self._timeout_seconds = timeout_seconds
        self._idle: list[tuple[float, Any]] = []
        """Idle connections with the times of their last use, the most recently used last."""
        self._down_until = float("-inf")
        self._logged_at = float("-inf")
        self.failure: str | None = None
        """The reason why the database does not respond, or None if no failure is known."""

    async def rows(self, statement: str, values: Sequence[str]) -> list[Row]:
        """Run a query, and return at most ROWS_MAX rows.

        Args:
            statement: SQL with `%s` for each value, and `%%` for a percent sign.
            values: one value for each `%s`. The values are sent separately from the statement.

        Raises:
            DatabaseDown: the query failed.
        """
        loop = asyncio.get_running_loop()
        if loop.time() < self._down_until:
            raise DatabaseDown(self.failure or "it did not answer a moment ago")
        try:
            async with asyncio.timeout(self._timeout_seconds):
                rows = await self._rows(statement, tuple(values))
        except _StatementRefused as refused:
            # The server is up. One client's value may be the cause, so other clients may continue.
            self._log(str(refused))
            raise DatabaseDown(str(refused)) from None
        except (MySQLError, OSError, EOFError, TimeoutError) as error:
            reason = _text_of(error)
            self._log(reason)
            self.failure = reason
            self._down_until = loop.time() + DOWN_SECONDS
            self.close()
            raise DatabaseDown(reason) from None
        self.failure = None
        return rows

    def close(self) -> None:
        """Close all idle connections to the database."""
        for _, connection in self._idle:
            connection.close()
        self._idle.clear()

    def _log(self, reason: str) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._logged_at >= LOG_SECONDS:
            self._logged_at = now
            logger.warning("the database of users: %s", reason)

    async def _rows(self, statement: str, values: tuple[str, ...]) -> list[Row]:
        connection = self._take_idle()
        if connection is not None:
            # The server may have closed the idle connection. A new one shows whether it is down.
            with suppress(MySQLError, OSError, EOFError):
                return await self._query(connection, statement, values)
        return await self._query(await self._connect(), statement, values)

    async def _query(self, connection: Any, statement: str, values: tuple[str, ...]) -> list[Row]:
        is_whole = False
        try:
            async with connection.cursor(DictCursor) as cursor:
                try:
                    await cursor.execute(statement, values)
                except MySQLError as error:
                    if _is_of_connection(error):
                        raise
                    raise _StatementRefused(_text_of(error)) from None
                rows: list[Row] = list(await cursor.fetchall())
            is_whole = True
        finally:
            if is_whole:
                self._idle.append((asyncio.get_running_loop().time(), connection))
            else:
                connection.close()  # a response may still be in transit
        return rows

    def _take_idle(self) -> Any:
        earliest = asyncio.get_running_loop().time() - IDLE_SECONDS_MAX
        while self._idle:
            used_at, connection = self._idle.pop()
            if used_at >= earliest:
                return connection
            connection.close()
        return None

    async def _connect(self) -> Any:
        server = self._server
        return await asyncmy.connect(
            host=server.host or "localhost",
            port=server.port,
            unix_socket=server.socket,
            user=server.user,
            password=server.password,
            database=server.database,
            ssl=server.tls,
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=self._timeout_seconds,
            # Statements are prepared on the server, so values never become part of their text.
            stmt_cache_size=4,
            init_command=f"SET SESSION sql_select_limit={ROWS_MAX}",
        )


def _is_of_connection(error: MySQLError) -> bool:
    number = error.args[0] if error.args else None
    if not isinstance(number, int) or number < SERVER_ERROR_MIN:
        return True  # asyncmy's own errors have no number
    return number in CLIENT_ERRORS or number in ENDING_ERRORS


def _text_of(error: Exception) -> str:
    text = ascii(str(error))[1:-1][:REASON_CHARACTERS_MAX]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
