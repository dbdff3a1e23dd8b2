"""Certificates, users and access rules for the scenarios that have some."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.broker.access.passwords.file import set_password

USERS: Final = 1_000
RULES: Final = 1_000
PASSWORD: Final = "bench"  # noqa: S105


@dataclass(frozen=True)
class Certificates:
    """Of one gateway, for both brokers."""

    ca: Path
    certificate: Path
    key: Path

    @property
    def listener_settings(self) -> str:
        """Of our broker."""
        return f'tls = {{certificate = "{self.certificate}", key = "{self.key}"}}'

    @property
    def mosquitto_settings(self) -> str:
        """Of Mosquitto, which would read the key when it has given root's rights up."""
        return f"certfile {self.certificate}\nkeyfile {self.key}\nuser root\n"


def certificates_in(directory: Path) -> Certificates:
    """Return the certificates of a directory, made where there are none."""
    folder = directory / "tls"
    if not folder.exists():
        command = [str(Path(sys.executable).with_name("oncegate")), "tls", "init", str(folder)]
        subprocess.run(command, check=True, capture_output=True)
    return Certificates(folder / "ca.pem", folder / "server.pem", folder / "server.key")


@dataclass(frozen=True)
class Access:
    """1,000 users and 1,000 rules; the one that the load is comes last."""

    settings: str
    options: tuple[str, ...]
    """Of the load generator."""


def access_in(directory: Path) -> Access:
    """Return users and rules, written into a directory."""
    users, rules, password = (directory / name for name in ("users", "rules", "password"))
    users.unlink(missing_ok=True)
    set_password(users, "u0", PASSWORD.encode())
    # One password for all: a thousand hashes would take a minute, and a login is no part of this.
    line = next(line for line in users.read_text().splitlines() if line.startswith("u0:"))
    others = [f"u{number}{line[2:]}" for number in range(1, USERS)]
    users.write_text(users.read_text() + "".join(f"{other}\n" for other in others))
    users.chmod(0o600)
    own = [f"allow user u{number} publish,subscribe own/{number}/#" for number in range(RULES - 1)]
    rules.write_text("".join(f"{rule}\n" for rule in (*own, "allow user * all bench/#")))
    password.write_text(PASSWORD + "\n")
    password.chmod(0o600)
    password.chmod(0o600)
    return Access(
        f'[access]\npassword_file = "{users}"\nrules_file = "{rules}"\n',
        ("--username", f"u{USERS - 1}", "--password-file", str(password)),
    )
