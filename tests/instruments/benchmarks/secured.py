"""Certificates, users and access rules for the scenarios that need them."""

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
    """The certificates of one gateway, which both brokers use."""

    ca: Path
    certificate: Path
    key: Path

    @property
    def listener_settings(self) -> str:
        """The listener's settings for Oncegate."""
        return f'tls = {{certificate = "{self.certificate}", key = "{self.key}"}}'

    @property
    def mosquitto_settings(self) -> str:
        """The settings for Mosquitto, which stays root because it reads the key later."""
        return f"certfile {self.certificate}\nkeyfile {self.key}\nuser root\n"


def certificates_in(directory: Path) -> Certificates:
    """Return the certificates in a directory. Create them if they do not exist."""
    folder = directory / "tls"
    if not folder.exists():
        command = [str(Path(sys.executable).with_name("oncegate")), "tls", "init", str(folder)]
        subprocess.run(command, check=True, capture_output=True)
    return Certificates(folder / "ca.pem", folder / "server.pem", folder / "server.key")


@dataclass(frozen=True)
class Access:
    """Settings for 1,000 users and 1,000 rules. The load generator's user and rule are last."""

    settings: str
    options: tuple[str, ...]
    """Options of the load generator."""


def access_in(directory: Path) -> Access:
    """Write users and rules into a directory. Return their settings."""
    users, rules, password = (directory / name for name in ("users", "rules", "password"))
    users.unlink(missing_ok=True)
    set_password(users, "u0", PASSWORD.encode())
    # All users share one hash: a thousand hashes would take a minute, and logins are not measured.
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
