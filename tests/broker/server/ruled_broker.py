"""A broker with users and access rules, on real sockets."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from gateway.broker.access.passwords.file import set_password
from gateway.broker.access.passwords.scram_keys import ITERATIONS_MAX
from gateway.broker.server.main import RunningBroker
from gateway.broker.server.status.sessions import session_detail_of
from gateway.configuration import load
from tests.peers.byte_client import ByteClient
from tests.peers.connection import DEADLINE_SECONDS
from tests.peers.mqtt_bytes import Will, connect

PASSWORD = "secret"  # noqa: S105
RULES = """\
deny  user ben            publish           shared/no
allow user anna           publish,subscribe shared/# $SYS/#
allow user ben            publish,subscribe shared/#
allow user *              publish,subscribe users/%u/#
"""


class RuledBroker:
    """A broker with the users anna and ben and a file of access rules."""

    def __init__(self, running: RunningBroker, directory: Path) -> None:
        self.running = running
        self.rules, self.users = directory / "access.rules", directory / "passwords"
        self.port: int = running.listening.shown[0]["port"]
        self._clients: list[ByteClient] = []

    @property
    def errors(self) -> dict[str, int]:
        return self.running.event_loop.broker.statistics.errors

    def shown(self, client_id: str) -> dict[str, object]:
        """Return the details that `oncegate ctl session` shows."""
        session = self.running.event_loop.broker.state.sessions[client_id]
        return session_detail_of(session, self.running.event_loop)

    def queued(self, client_id: str) -> int:
        return self.running.event_loop.broker.state.sessions[client_id].queued_count

    async def log_in(
        self, user: str | None, client_id: str, *, level: int = 4, will: Will | None = None
    ) -> ByteClient:
        """Connect with a persistent session, anonymously if `user` is None."""
        client = ByteClient(*await asyncio.open_connection("127.0.0.1", self.port))
        self._clients.append(client)
        client.send(
            connect(
                client_id,
                clean=level == 5,
                username=user,
                password=None if user is None else PASSWORD.encode(),
                level=level,
                will=will,
            )
        )
        connack = await client.packet()
        assert connack[3] == 0
        return client

    async def mosquitto(
        self, program: str, user: str, version: str, *arguments: str
    ) -> tuple[int, str]:
        """Run one of Mosquitto's clients; return its exit code and its whole output."""
        address = ["-h", "127.0.0.1", "-p", str(self.port), "-V", version, "-i", f"m-{program}"]
        process = await asyncio.create_subprocess_exec(
            program,
            *address,
            *("-u", user, "-P", PASSWORD, *arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(DEADLINE_SECONDS):
            output, _ = await process.communicate()
        return process.returncode or 0, output.decode()

    def cut(self) -> None:
        for client in self._clients:
            client.abort()


@asynccontextmanager
async def running(directory: Path, *, anonymous: bool = False) -> AsyncIterator[RuledBroker]:
    (directory / "access.rules").write_text(RULES)
    for user in ("anna", "ben"):
        set_password(directory / "passwords", user, PASSWORD.encode(), scram_iterations=4_096)

    def read() -> object:
        overrides = {
            "gateway.data_dir": directory / "data",
            # On a machine that is busy with other tests, a check of a password can be slow.
            "mqtt.connect_timeout": f"{DEADLINE_SECONDS:g}s",
            "listeners": [{"port": 0, "anonymous": anonymous}],
            "access.password_file": directory / "passwords",
            "access.rules_file": directory / "access.rules",
        }
        return load(None, {}, overrides, None)

    stop = asyncio.Event()
    made = await RunningBroker.start(read(), read)  # type: ignore[arg-type]
    upkeep = asyncio.create_task(made.until(stop))
    broker = RuledBroker(made, directory)
    try:
        yield broker
        assert made.event_loop.committer.failure is None
    finally:
        broker.cut()
        stop.set()
        await upkeep
        await made.stop()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)


def slow_down(broker: RuledBroker) -> None:
    """Add the user `slow`, whose password takes half a second to check."""
    set_password(broker.users, "slow", PASSWORD.encode(), scram_iterations=ITERATIONS_MAX)
    broker.running.reloading.reload()


async def eventually(question: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not question():  # noqa: ASYNC110 - the core has no event to wait for
            await asyncio.sleep(0.001)


async def answered(client: ByteClient, data: bytes) -> bytes:
    client.send(data)
    return await client.packet()
