"""The operator's files of a broker under attack, and the attackers' files.

The operator's files are users, keys and tokens. The attackers find these files in the folder that
`Target` names:

    stranger.pem, stranger.key    a self-signed certificate
    tokens.json                   invalid tokens (JWT), each with another fault
"""

import base64
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import jwt

from gateway.broker.access.passwords.file import set_password
from tests.instruments.benchmarks.hostile.attack import Target
from tests.instruments.benchmarks.secured import Certificates, certificates_in
from tests.peers.identity_provider import AUDIENCE, Signer, signer

PASSWORD: Final = b"the right one"
HONEST: Final = "honest"
"""The user of the honest clients. They connect from loopback, where attackers do not guess."""
ISSUER: Final = "https://login.example/realms/plant"

SETTINGS: Final = """\
[mqtt]
max_sessions = 2000
max_mqueue_len = 1000
max_retained = 24000
{mqtt}
[quotas]
max_connections_per_address = 600
anonymous_session_expiry = "5s"
{more}
[[queues]]
client = "refuse-*"
when_full = "refuse"
[access]
password_file = "{folder}/passwords"
rules_file = "{folder}/rules"
[access.jwt]
issuer = "{issuer}"
audience = "{audience}"
jwks_file = "{folder}/keys.json"
[api]
port = {target.page_port}
viewers = ["known"]
tokens_file = "{folder}/page-tokens"
[[listeners]]
port = {target.password_port}
anonymous = false
[[listeners]]
port = {target.proxy_port}
proxy_protocol = true
allow_anonymous_network = true
max_packet_rate = 500
[[listeners]]
port = {target.guarded_port}
proxy_protocol = true
anonymous = false
[[listeners]]
port = {target.websocket_port}
protocol = "websocket"
[[listeners]]
port = {target.tls_port}
anonymous = false
tls = {{certificate = "{tls.certificate}", key = "{tls.key}"}}
[[listeners]]
port = {target.certificates_port}
[listeners.tls]
certificate = "{tls.certificate}"
key = "{tls.key}"
ca = "{tls.ca}"
client_certificates = "required"
[[listeners]]
protocol = "unix"
path = "{target.unix_path}"
"""
"""The default configuration, except for limits that a short attack must be able to reach."""

RULES: Final = """\
deny anyone all forbidden/#
allow anyone all
"""


class Site:
    """Writes these files into an existing folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.certificates: Certificates = certificates_in(folder)
        for name in (HONEST, "known"):
            set_password(folder / "passwords", name, PASSWORD)
        set_password(folder / "passwords", "user1", PASSWORD, scram_iterations=4_096)
        (folder / "rules").write_text(RULES)
        provider = signer()
        (folder / "keys.json").write_text(json.dumps({"keys": [provider.public]}))
        (folder / "tokens.json").write_text(json.dumps(list(_tokens(provider))))
        self._make_stranger()
        self.page_token = self._new_page_token()

    def settings(self, target: Target, *, mqtt: str = "", more: str = "") -> str:
        """Return the configuration without the first listener and the data directory."""
        return SETTINGS.format(
            target=target,
            folder=self.folder,
            tls=self.certificates,
            issuer=ISSUER,
            audience=AUDIENCE,
            mqtt=mqtt,
            more=more,
        )

    def _make_stranger(self) -> None:
        subprocess.run(
            [
                *(
                    "openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:P-256",
                ),
                *("-nodes", "-days", "30", "-subj", "/CN=honest"),
                *("-keyout", self.folder / "stranger.key", "-out", self.folder / "stranger.pem"),
            ],
            check=True,
            capture_output=True,
        )

    def _new_page_token(self) -> str:
        command = Path(sys.executable).with_name("oncegate")
        made = subprocess.run(
            [command, "api-token", "add", HONEST, "--file", self.folder / "page-tokens"],
            check=True,
            capture_output=True,
            text=True,
        )
        return made.stdout.split()[-1]


def _tokens(provider: Signer) -> Iterator[str]:
    now = int(time.time())
    right: dict[str, Any] = {"iss": ISSUER, "aud": AUDIENCE, "sub": HONEST, "iat": now}
    right["exp"] = now + 86_400

    def signed(by: Signer, **changes: object) -> str:
        return jwt.encode(right | changes, by.key, by.algorithm, {"kid": by.name})

    yield signed(provider, exp=now - 3_600, iat=now - 7_200)
    yield signed(provider, aud="another-service")
    yield signed(signer())  # another key with the same name
    yield signed(signer("unknown"))
    yield signed(provider)[:-4] + "AAAA"
    yield jwt.encode(right, "", "none")
    yield jwt.encode(right, provider.public["x"], "HS256", {"kid": provider.name})
    yield signed(provider, exp=now - 1, padding="x" * 30_000)
    deep = base64.urlsafe_b64encode(b"[" * 45_000).decode()
    yield f"{deep}.e30.AAAA"
    yield f"{signed(provider).split('.')[0]}.{deep}.AAAA"
    yield "e30." * 10_000
    yield "." * 60_000
