"""A run of the whole gateway with every kind of secret: none of them is anywhere but in its file.

Right and wrong passwords and tokens are sent to the broker and to the page, everything is logged,
and then everything is searched that others may come to see: what was printed, command lines and
environments of processes, pages, REST, the status, the session log, and each file of the data
directory.
"""

import asyncio
import base64
import io
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx
import pytest
from backports import zstd

from tests.peers.connection import DEADLINE_SECONDS
from tests.system.broker_process import oncegate_command
from tests.system.whole_gateway import WholeGateway

RIGHT: Final = "right-horse-Battery-71"
BRIDGE: Final = "bridge-Staple-Correct-72"
WRONG: Final = "wrong-Shoe-Polish-73"
WRONG_AT_PAGE: Final = "wrong-At-Page-74"
WRONG_TOKEN: Final = "ogt_wrongTokenOfAProgram75"  # noqa: S105
WRONG_JWT: Final = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ3cm9uZy03NiJ9.c2lnbmF0dXJlLTc2"
SEEN: Final = "what-the-log-has-77"
"""A message: the search finds it, so it would find a secret."""
PATHS: Final = ("/", "/sessions", "/broker", "/serial", "/api/v1/status", "/api/v1/sessions")

SETTINGS: Final = """
[[listeners]]
bind = "127.0.0.1"
anonymous = false

[access]
password_file = "{directory}/users"

[access.jwt]
issuer = "https://login.example"
audience = "oncegate"
jwks_file = "{directory}/keys.json"

[bridge]
username = "bridge"
password_file = "{directory}/bridge-password"

[session_log]
payload_topics = ["#"]
seal_after = "500ms"

[api]
viewers = ["anna"]
tokens_file = "{directory}/api-tokens"
"""


def command(*arguments: str, given: str = "") -> str:
    """Run one command; what it printed."""
    outcome = subprocess.run(
        [*oncegate_command(), *arguments],
        input=given.encode(),
        capture_output=True,
        timeout=DEADLINE_SECONDS * 3,
        check=False,
    )
    return outcome.stdout.decode() + outcome.stderr.decode()


def publish(gateway: WholeGateway, username: str, password: str) -> int:
    """Publish with a password, in another program's process; its exit code."""
    where = ["-p", str(gateway.broker_port), "-t", "load/1", "-m", SEEN, "-q", "2"]
    credentials = ["-u", username, "-P", password, "-V", "5"]
    return subprocess.run(
        ["mosquitto_pub", *where, *credentials],
        capture_output=True,
        timeout=DEADLINE_SECONDS * 3,
        check=False,
        cwd="/",
    ).returncode


async def visit(gateway: WholeGateway, token: str) -> str:
    """Log in wrongly and rightly, look at all pages, also as a program; what was answered."""
    url = f"http://127.0.0.1:{gateway.page_port}"
    seen: list[str] = []
    async with httpx.AsyncClient(base_url=url, timeout=DEADLINE_SECONDS) as browser:
        for password, status_code in ((WRONG_AT_PAGE, 403), (RIGHT, 303)):
            form = (await browser.get("/login")).text
            found = re.search(r'name="token" value="([^"]+)"', form)
            assert found is not None
            fields = {"username": "anna", "password": password, "token": found[1], "next": "/"}
            answer = await browser.post("/login", data=fields, headers={"Origin": url})
            assert answer.status_code == status_code, answer.text
            seen += [form, answer.text]
        seen += [(await browser.get(path)).text for path in PATHS]
    async with httpx.AsyncClient(base_url=url, timeout=DEADLINE_SECONDS) as program:
        for shown, status_code in ((WRONG_TOKEN, 401), (token, 200)):
            answer = await program.get(PATHS[-1], headers={"Authorization": f"Bearer {shown}"})
            assert answer.status_code == status_code, answer.text
            seen.append(answer.text)
    return "\n".join(seen)


def of_processes(gateway: WholeGateway) -> Iterator[tuple[str, bytes]]:
    for process_id in gateway.process_ids():
        for name in ("cmdline", "environ"):
            path = Path(f"/proc/{process_id}/{name}")
            yield str(path), path.read_bytes()


def of_files(gateway: WholeGateway) -> Iterator[tuple[str, bytes]]:
    for path in sorted(gateway.data_directory.rglob("*")):
        if not path.is_file():
            continue
        content = path.read_bytes()
        yield str(path), content
        if path.suffix == ".zst":
            with zstd.open(io.BytesIO(content)) as lines:
                yield f"{path}, unpacked", lines.read()


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_no_secret_is_anywhere_but_in_its_file(gateway: WholeGateway) -> None:
    directory = gateway.directory
    (directory / "keys.json").write_text('{"keys": []}')
    (directory / "bridge-password").write_text(BRIDGE + "\n")
    for name in ("keys.json", "bridge-password"):
        (directory / name).chmod(0o600)
    users, tokens = str(directory / "users"), str(directory / "api-tokens")
    printed = [
        command("passwd", users, "anna", "--password-stdin", given=RIGHT),
        command("passwd", users, "bridge", "--password-stdin", "--scram", given=BRIDGE),
    ]
    token = command("api-token", "add", "dashboard", "--file", tokens).split()[-1]
    gateway.configure(SETTINGS.format(directory=directory))
    gateway.start("--verbose")
    data = ("--data-dir", str(gateway.data_directory))
    assert publish(gateway, "anna", RIGHT) == 0
    for username, password in (("anna", WRONG), ("nobody", WRONG), ("anna", WRONG_JWT)):
        assert publish(gateway, username, password) != 0
    printed.append(await visit(gateway, token))
    printed += [command("ctl", verb, *data) for verb in ("status", "sessions")]
    printed.append(command("check-config", "--config", str(directory / "gateway.toml")))
    places = [("printed by commands, and pages", "\n".join(printed).encode())]
    places += of_processes(gateway)
    assert await asyncio.to_thread(gateway.stop) == 0
    places += of_files(gateway)
    places.append(("printed by the gateway", gateway.output().encode()))
    assert "anna" in gateway.output(), "what was done is logged"
    assert any(SEEN.encode() in content for path, content in places if path.endswith("unpacked"))
    for secret in (RIGHT, BRIDGE, WRONG, WRONG_AT_PAGE, WRONG_TOKEN, WRONG_JWT, token):
        forms = (secret.encode(), base64.b64encode(secret.encode()), secret.encode().hex().encode())
        found = [place for place, content in places for form in forms if form in content]
        assert found == [], f"{secret!r} stands there"
