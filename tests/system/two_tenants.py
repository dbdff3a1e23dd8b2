"""`oncegate up` with two tenants. Their users have the same names but different passwords."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gateway.broker.access.passwords.file import set_password
from gateway.process.control.client import ask
from gateway.uploader.upload.targets import MARKER_NAME
from tests.peers.byte_client import ByteClient
from tests.peers.mqtt_bytes import Will
from tests.system.broker_process import free_port

DEADLINE_SECONDS = 300.0
"""About ten processes start, on two cores that are also busy with other work."""

COMMAND = [sys.executable, "-P", "-m", "gateway.cli.main"]
TENANTS = ("acme", "beta")
USER = "anna"
BOUNDED = "bounded"
"""A user in both tenants, limited by `[[user_quotas]]` at the top level."""

SETTINGS = """
[gateway]
id = "gw-1"
data_dir = "{data}"
[[listeners]]
port = {top}
[api]
port = {page}
[session_log]
seal_after = "200ms"
payload_topics = ["#"]
[mqtt]
sys_interval = "1s"
[[user_quotas]]
user = "bounded"
subscriptions = 2
[[tenants.acme.listeners]]
port = {acme}
anonymous = false
[tenants.acme.access]
password_file = "{directory}/acme.passwords"
[tenants.acme.mqtt]
max_retained = 2
[[tenants.beta.listeners]]
port = {beta}
anonymous = false
[tenants.beta.access]
password_file = "{directory}/beta.passwords"
[tenants.beta.upload]
target = "file://{directory}/of-beta"
"""

OF_EACH = """
[tenants.{name}.api]
port = {page}
viewers = ["anna"]
tokens_file = "{directory}/{name}.tokens"
[tenants.{name}.hooks]
module = "watch_{name}"
[tenants.{name}.uplink]
address = "127.0.0.1:{top}"
local_username = "anna"
local_password_file = "{directory}/{name}.password"
[[tenants.{name}.uplink.topics]]
filter = "up/#"
direction = "both"
remote_prefix = "{name}/"
"""

HOOKS = """
from gateway.hooks import Observer, Published

class Watch(Observer):
    def published(self, event: Published) -> None:
        with open("{file}", "ab") as file:
            file.write(event.topic.encode() + b" " + event.payload + b"\\n")

observer = Watch()
"""


class TwoTenants:
    """One gateway with the tenants acme and beta. `remove` deletes its directory."""

    def __init__(self, *, have_all: bool = False) -> None:
        """Start the gateway.

        With `have_all` each tenant also has a page with a token, a hook and an uplink.
        """
        self.directory = Path(tempfile.mkdtemp(prefix="oncegate-test-"))
        self.data = self.directory / "data"
        self.ports = {
            name: free_port() for name in ("top", "page", "acme_page", "beta_page", *TENANTS)
        }
        self.configuration = self.directory / "gateway.toml"
        self.tokens: dict[str, str] = {}
        """The token for each tenant's REST interface."""
        self.configuration.write_text(
            SETTINGS.format(data=self.data, directory=self.directory, **self.ports)
        )
        if have_all:
            for tenant in TENANTS:
                self._add_to(tenant)
        else:
            with self.configuration.open("a") as text:
                text.write(f"[tenants.beta.api]\nport = {self.ports['beta_page']}\n")
        # Without the marker file the directory could be a mount point whose disk is absent.
        (self.directory / "of-beta").mkdir()
        (self.directory / "of-beta" / MARKER_NAME).touch()
        for tenant in TENANTS:
            for user in (USER, BOUNDED, *(["bert"] if tenant == "beta" else [])):
                file = self.directory / f"{tenant}.passwords"
                set_password(file, user, f"of-{tenant}".encode())
        self._log = (self.directory / "output").open("wb")
        self._process = subprocess.Popen(
            [*COMMAND, "up", "--as-services", "--config", self.configuration],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=self._environment(),
        )

    def _add_to(self, tenant: str) -> None:
        """Give a tenant a page with a token, a hook and an uplink to the gateway's own broker."""
        text = OF_EACH.format(
            name=tenant,
            directory=self.directory,
            page=self.ports[f"{tenant}_page"],
            top=self.ports["top"],
        )
        with self.configuration.open("a") as file:
            file.write(text)
        hook = HOOKS.format(file=self.directory / f"{tenant}.published")
        (self.directory / f"watch_{tenant}.py").write_text(hook)
        password = self.directory / f"{tenant}.password"
        password.write_text(f"of-{tenant}\n")
        password.chmod(0o600)
        self.tokens[tenant] = self.run("api-token", "add", "t", "--tenant", tenant).split()[-1]

    def run(self, *arguments: object) -> str:
        """Run a command next to the gateway, and return its standard output."""
        outcome = subprocess.run(
            [*COMMAND, *map(str, arguments), "--config", self.configuration],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=self._environment(),
        )
        assert outcome.returncode == 0, outcome.stderr
        return outcome.stdout

    def ask(self, tenant: str | None, command: str, **arguments: object) -> dict[str, Any]:
        """Send a request to a tenant's broker, or to the gateway's own if `tenant` is None."""
        directory = self.data if tenant is None else self.data / "tenants" / tenant
        request = {"command": command, **arguments}
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            try:
                return ask(directory / "control.sock", DEADLINE_SECONDS, request)
            except (OSError, EOFError):  # A broker that was killed is being restarted.
                assert time.monotonic() < deadline, self.output()
                time.sleep(0.1)

    async def open(self, tenant: str) -> ByteClient:
        """Return a connection to a tenant's broker. Retries until the broker listens."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while True:
                try:
                    return await ByteClient.open(self.ports[tenant])
                except OSError:
                    await asyncio.sleep(0.1)

    async def client(
        self,
        tenant: str,
        client_id: str,
        *,
        clean: bool = True,
        will: Will | None = None,
        username: str = USER,
    ) -> ByteClient:
        """Return a client that has logged in at a tenant's broker."""
        client = await self.open(tenant)
        password = f"of-{tenant}".encode()
        answer: Any = await client.connect(
            client_id, clean=clean, will=will, username=username, password=password
        )
        assert answer.return_code == 0
        return client

    def broker_of(self, tenant: str, *, after: int | None = None) -> int:
        """Return the process id of a tenant's broker.

        `after` is the id of a broker that was killed: the method waits for another process. The
        killed broker's listener may accept a connection until its process has ended, and the next
        broker is started only after that.
        """
        deadline = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < deadline:
            for entry in Path("/proc").glob("[0-9]*"):
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                mine = str(self.configuration).encode() in words
                is_broker = mine and b"broker" in words and tenant.encode() in words
                if is_broker and int(entry.name) != after:
                    return int(entry.name)
            time.sleep(0.1)
        raise AssertionError(f"no broker of {tenant} runs")

    def stop(self) -> int:
        """Stop everything in order, and return the exit code."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(DEADLINE_SECONDS)

    def remove(self) -> None:
        """Kill the gateway and remove its directory. The children die with their supervisor."""
        self._process.kill()
        self._process.wait(DEADLINE_SECONDS)
        self._log.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _environment(self) -> dict[str, str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith("ONCEGATE_")
        }
        return kept | {"NO_COLOR": "1", "PYTHONPATH": str(self.directory)}

    def output(self) -> str:
        """Return the log of all processes."""
        return (self.directory / "output").read_text(errors="replace")
