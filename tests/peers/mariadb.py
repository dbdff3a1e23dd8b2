"""MariaDB from Debian's package in its own directory, on a Unix socket and on loopback."""

import asyncio
import os
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncmy

from tests.broker.access.authority import Authority

START_SECONDS_MAX = 60.0
USER, PASSWORD = "oncegate", "the broker's password"
# Debian installs it in a folder that users do not have in their PATH.
PROGRAM = shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class MariaDB:
    """A running server with an empty database `mqtt` that USER may read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "socket"
        authority = Authority(folder / "tls")
        self.ca = authority.ca
        certificate, key = authority.issue("database", alternatives="IP:127.0.0.1")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        # Without io_uring and a large buffer, for both of which a busy machine may lack memory.
        common = [
            "--no-defaults",
            f"--datadir={folder / 'data'}",
            "--innodb-use-native-aio=0",
            "--innodb-buffer-pool-size=8M",
            "--innodb-log-file-size=4M",
        ]
        if os.geteuid() == 0:
            common.append("--user=root")
        self._install(common)
        self._command = [
            str(PROGRAM),
            *common,
            f"--socket={self.socket}",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            "--innodb-flush-log-at-trx-commit=0",
            "--skip-log-bin",
            f"--ssl-ca={self.ca}",
            f"--ssl-cert={certificate}",
            f"--ssl-key={key}",
            f"--pid-file={folder / 'pid'}",
        ]
        self.start()
        self.run(
            "CREATE DATABASE mqtt",
            f"CREATE USER '{USER}'@'%' IDENTIFIED BY '{PASSWORD.replace(chr(39), chr(39) * 2)}'",
            f"GRANT SELECT ON mqtt.* TO '{USER}'@'%'",
        )

    def _install(self, options: list[str]) -> None:
        """Create the system tables.

        Raises:
            AssertionError: The program failed; with its output.
        """
        done = subprocess.run(
            [
                "mariadb-install-db",
                *options,
                # Without a lookup of the machine's name, which CI's network may not answer.
                "--force",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=START_SECONDS_MAX,
        )
        free = shutil.disk_usage(self.folder).free
        assert done.returncode == 0, f"{done.stdout}\n{free} bytes are free in {self.folder}"

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            assert self._process.poll() is None, (self.folder / "log").read_text()
            try:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.connect(str(self.socket))
                    return
            except OSError:
                assert time.monotonic() < deadline, (self.folder / "log").read_text()
                time.sleep(0.02)

    def stop(self) -> None:
        """Kill the server: its data are not used afterwards."""
        self._process.kill()
        self._process.wait()

    def run(self, *statements: str) -> None:
        """Execute statements as root. Must not be called within an event loop."""
        asyncio.run(self.execute(*statements))

    async def execute(self, *statements: str) -> None:
        """Execute statements as root, in the database `mqtt` if it exists."""
        async with self._connected() as cursor:
            await cursor.execute("SHOW DATABASES LIKE 'mqtt'")
            if await cursor.fetchall():
                await cursor.execute("USE mqtt")
            for statement in statements:
                await cursor.execute(statement)

    @asynccontextmanager
    async def locked(self, name: str) -> AsyncIterator[None]:
        """Hold a named lock, for which queries wait with GET_LOCK."""
        async with self._connected() as cursor:
            await cursor.execute("SELECT GET_LOCK(%s, 0)", (name,))
            assert await cursor.fetchall() == ((1,),)
            yield

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Any]:
        connection = await asyncmy.connect(
            host="localhost", user="root", unix_socket=str(self.socket), autocommit=True
        )
        try:
            async with connection.cursor() as cursor:
                yield cursor
        finally:
            connection.close()
