"""A run of the whole gateway with every kind of secret: each secret is found only in its own file.

Correct and wrong passwords and tokens are sent to the broker and to the page, a reload is refused,
and everything is logged. Then the test searches everything that others may see: output, command
lines and environments of processes, pages, REST, the status, the session log, and each file of the
data directory.
"""

import asyncio
import base64
import io
import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx
import jwt
import pytest
from backports import zstd

from gateway.broker.wire.packets import Connack
from tests.broker.access.authority import Authority
from tests.peers.connection import DEADLINE_SECONDS
from tests.peers.identity_provider import Signer, signer
from tests.peers.packet_client import PacketClient
from tests.system.broker_process import free_port, oncegate_command
from tests.system.whole_gateway import WholeGateway

RIGHT: Final = "right-horse-Battery-71"
BRIDGE: Final = "bridge-Staple-Correct-72"
UPLINK: Final = "uplink-Paper-Clip-78"
DATABASE: Final = "database-Drawing-Pin-79"
UPLOAD: Final = "upload-Rubber-Band-80"
WRONG: Final = "wrong-Shoe-Polish-73"
WRONG_AT_PAGE: Final = "wrong-At-Page-74"
WRONG_TOKEN: Final = "ogt_wrongTokenOfAProgram75"  # noqa: S105
WRONG_JWT: Final = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ3cm9uZy03NiJ9.c2lnbmF0dXJlLTc2"
SEEN: Final = "what-the-log-has-77"
"""Payload of a message. The search finds it, which proves that the search would find a secret."""
PATHS: Final = (
    *("/", "/sensors", "/clients", "/system"),
    *("/api/v1/status", "/api/v1/serial", "/api/v1/sessions", "/api/v1/history/series"),
)

SETTINGS: Final = """
[[listeners]]
bind = "127.0.0.1"
anonymous = false

[[listeners]]
port = {tls_port}
anonymous = false
tls = {{ certificate = "{directory}/ca/served.pem", key = "{directory}/ca/served.key" }}

[access]
password_file = "{directory}/users"
order = ["password_file", "jwt", "mysql"]

[access.jwt]
issuer = "https://login.example"
audience = "oncegate"
jwks_file = "{directory}/keys.json"

[access.mysql]
server = "127.0.0.1:1"
user = "reader"
database = "mqtt"
password_file = "{directory}/database-password"
when_down = "next"

[uplink]
address = "127.0.0.1:{broker_port}"
username = "uplink"
password_file = "{directory}/uplink-password"
local_username = "bridge"
local_password_file = "{directory}/bridge-password"

[[uplink.topics]]
filter = "up/#"
remote_prefix = "site/"

[bridge]
username = "bridge"
password_file = "{directory}/bridge-password"

[session_log]
payload_topics = ["#"]
seal_after = "500ms"

[upload]
target = "s3://bucket/site"

[api]
viewers = ["anna"]
tokens_file = "{directory}/api-tokens"
"""


def command(*arguments: str, given: str = "") -> str:
    """Run a command and return its output."""
    outcome = subprocess.run(
        [*oncegate_command(), *arguments],
        input=given.encode(),
        capture_output=True,
        timeout=DEADLINE_SECONDS * 3,
        check=False,
    )
    return outcome.stdout.decode() + outcome.stderr.decode()


def publish(gateway: WholeGateway, username: str, password: str) -> int:
    """Publish with a password from another program, and return that program's exit code."""
    where = ["-p", str(gateway.broker_port), "-t", "load/1", "-m", SEEN, "-q", "2"]
    credentials = ["-u", username, "-P", password, "-V", "5"]
    return subprocess.run(
        ["mosquitto_pub", *where, *credentials],
        capture_output=True,
        timeout=DEADLINE_SECONDS * 3,
        check=False,
        cwd="/",
    ).returncode


async def bear(port: int, token: str) -> int:
    """Log in with a token by OAUTHBEARER, and return the reason code."""
    async with await PacketClient.open(port) as client:
        client.connect(f"n,,\x01auth=Bearer {token}\x01\x01".encode(), method="OAUTHBEARER")
        connack = await client.receive()
        assert isinstance(connack, Connack)
        return connack.reason_code


def token_of(key: Signer) -> str:
    """Return a token of the user carol that the broker accepts. Carol has no password."""
    claims: dict[str, object] = {"iss": "https://login.example", "aud": "oncegate", "sub": "carol"}
    claims |= {"exp": int(time.time()) + 3_600}
    return jwt.encode(claims, key.key, algorithm=key.algorithm, headers={"kid": key.name})


def secrets_in_keys(*files: Path) -> Iterator[bytes]:
    """Yield the secret lines of keys in PEM, and the bytes of other keys."""
    for file in files:
        content = file.read_bytes()
        if b"-----BEGIN" not in content:
            yield content
            continue
        yield from (line for line in content.splitlines()[1:-1] if len(line) > 40)


async def visit(gateway: WholeGateway, token: str) -> tuple[str, str]:
    """Log in with a wrong and a correct password, and load all pages, also with a token as a
    program does.

    Return the text of all responses, and the cookie of the login.
    """
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
        # The other cookie belongs to the login form, which contains the same value.
        login = browser.cookies["oncegate-login"]
    async with httpx.AsyncClient(base_url=url, timeout=DEADLINE_SECONDS) as program:
        for shown, status_code in ((WRONG_TOKEN, 401), (token, 200)):
            answer = await program.get(PATHS[-1], headers={"Authorization": f"Bearer {shown}"})
            assert answer.status_code == status_code, answer.text
            seen.append(answer.text)
    return "\n".join(seen), login


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
    key = signer()
    (directory / "keys.json").write_text(json.dumps({"keys": [key.public]}))
    for name, secret in (("bridge", BRIDGE), ("uplink", UPLINK), ("database", DATABASE)):
        (directory / f"{name}-password").write_text(secret + "\n")
        (directory / f"{name}-password").chmod(0o600)
    served = Authority(directory / "ca").issue("served", alternatives="DNS:localhost")
    users, tokens = str(directory / "users"), str(directory / "api-tokens")
    printed = [
        command("passwd", users, "anna", "--password-stdin", given=RIGHT),
        command("passwd", users, "bridge", "--password-stdin", "--scram", given=BRIDGE),
        command("passwd", users, "uplink", "--password-stdin", given=UPLINK),
    ]
    token = command("api-token", "add", "dashboard", "--file", tokens).split()[-1]
    places_of_gateway = {"broker_port": gateway.broker_port, "tls_port": free_port()}
    gateway.configure(SETTINGS.format(directory=directory, **places_of_gateway))
    # The bucket does not respond, so that the uploader's error messages are searched as well.
    bucket = {"AWS_ACCESS_KEY_ID": "id", "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    gateway.start("--verbose", environment=bucket | {"AWS_SECRET_ACCESS_KEY": UPLOAD})
    data = ("--data-dir", str(gateway.data_directory))
    assert publish(gateway, "anna", RIGHT) == 0
    for username, password in (("anna", WRONG), ("nobody", WRONG), ("anna", WRONG_JWT)):
        assert publish(gateway, username, password) != 0
    accepted = token_of(key)
    assert publish(gateway, "carol", accepted) == 0
    assert await bear(gateway.broker_port, accepted) == 0
    pages, login = await visit(gateway, token)
    printed.append(pages)
    (directory / "database-password").write_text(f"{DATABASE}\nanother line\n")
    (directory / "database-password").chmod(0o644)
    refused = command("ctl", "reload", *data)
    assert "database-password: is a secret" in refused
    printed.append(refused)
    (directory / "database-password").chmod(0o600)
    printed += [command("ctl", verb, *data) for verb in ("status", "sessions")]
    printed.append(command("check-config", "--config", str(directory / "gateway.toml")))
    places = [("printed by commands, and pages", "\n".join(printed).encode())]
    places += of_processes(gateway)
    assert await asyncio.to_thread(gateway.stop) == 0
    places += of_files(gateway)
    places.append(("printed by the gateway", gateway.output().encode()))
    assert "anna" in gateway.output(), "what was done is logged"
    assert any(SEEN.encode() in content for path, content in places if path.endswith("unpacked"))
    signing_key = gateway.data_directory / "log" / "signing-key"
    texts = [RIGHT, BRIDGE, UPLINK, DATABASE, UPLOAD, WRONG, WRONG_AT_PAGE]
    texts += [WRONG_TOKEN, WRONG_JWT, token, accepted, login]
    secrets = [text.encode() for text in texts] + list(secrets_in_keys(served[1], signing_key))
    assert len(secrets) >= len(texts) + 2, "both keys are searched for"
    for hidden in secrets:
        # systemd passes the uploader's credentials in its environment.
        its_own = "environ" if hidden == UPLOAD.encode() else str(signing_key)
        forms = (hidden, base64.b64encode(hidden), hidden.hex().encode())
        found = [
            place
            for place, content in places
            for form in forms
            if form in content and not place.endswith(its_own)
        ]
        assert found == [], f"{hidden!r} stands there"
