"""A private certificate authority in a folder, created with the `openssl` program.

Contents of the folder::

    ca.pem                  the authority's certificate, for clients and the broker
    server.pem, server.key  the gateway's certificate and key
    clients/NAME.pem, .key  a client's certificate and key; its common name is NAME
    crl.pem                 the revoked certificates
    authority/              the authority's key, and its list of issued certificates

Existing files are never overwritten. A new file is renamed to its final name only when it is
complete. Keys are ECDSA P-256, because small machines can sign and verify with them quickly. Only
the owner can read a key file.
"""

import datetime
import ipaddress
import os
import re
import socket
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from gateway.process.files.durable import fsync_file, fsync_folder, move_durably, replace_durably

PROGRAM: Final = "openssl"
PROGRAM_SECONDS: Final = 60.0
AUTHORITY_DAYS: Final = 3_650
"""Validity of the authority's certificate: ten years, because a new one must be installed on every
client.
"""

COMMON_NAME_CHARACTERS_MAX: Final = 64
"""Limit of X.509. Longer names are truncated, which is safe: clients check alternative names."""

CLIENT_NAME: Final = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9._@-]{0,63}")
"""A client's name. It is both a file name and a common name, which has at most 64 characters."""

HOST_NAME: Final = re.compile(r"(?!-)[A-Za-z0-9.*-]{1,253}(?<!-)")

_CONFIGURATION: Final = """
[req]
distinguished_name = subject
prompt = no
string_mask = utf8only
x509_extensions = authority
[subject]
CN = {name}
[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[issued]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = {usage}
authorityKeyIdentifier = keyid
{alternatives}
[ca]
default_ca = ours
[ours]
certificate = {folder}/ca.pem
private_key = {folder}/authority/ca.key
database = {folder}/authority/index
new_certs_dir = {folder}/authority
crlnumber = {folder}/authority/crlnumber
default_md = sha256
default_crl_days = {crl_days}
unique_subject = no
rand_serial = yes
policy = any
string_mask = utf8only
[any]
commonName = supplied
"""


class AuthorityError(Exception):
    """Error raised if a certificate cannot be created. The message gives the reason and the fix."""


class Authority:
    """A private certificate authority, stored in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.ca = self.folder / "ca.pem"
        self.crl = self.folder / "crl.pem"
        self._own = self.folder / "authority"

    @property
    def server(self) -> tuple[Path, Path]:
        """The paths of the gateway's certificate and private key."""
        return self.folder / "server.pem", self.folder / "server.key"

    def client(self, name: str) -> tuple[Path, Path]:
        """Return the paths of a client's certificate and key.

        Raises AuthorityError if the name is invalid.
        """
        if CLIENT_NAME.fullmatch(name) is None:
            raise AuthorityError(f"{name!r}: a client's name has 1 to 64 of A-Z a-z 0-9 . _ @ -")
        return self.folder / "clients" / f"{name}.pem", self.folder / "clients" / f"{name}.key"

    def make(self, name: str) -> bool:
        """Create the authority if it does not exist. Return True if this call created it.

        `name` becomes the common name in the authority's certificate. Raises AuthorityError on
        failure.
        """
        if self.ca.exists():
            if not (self._own / "ca.key").exists():
                raise AuthorityError(
                    f"{self._own / 'ca.key'}: is not there: bring the authority's folder back to "
                    "issue certificates, or name another directory"
                )
            return False
        if self.folder.exists() and not self.folder.is_dir():
            raise AuthorityError(f"{self.folder} is not a directory: name another one")
        if not self.folder.exists():
            self.folder.mkdir(parents=True)
            self.folder.chmod(0o755)  # the broker's user must enter; keys have their own modes
        self._own.mkdir(exist_ok=True)
        self._own.chmod(0o700)
        for file, content in (("index", ""), ("crlnumber", "01\n")):
            path = self._own / file
            replace_durably(path, content.encode(), partial=path.with_suffix(".partial"))
        _make_key(self._own / "ca.key")
        configuration = self._configuration(name=name)
        self._run_into(
            self.ca,
            *("req", "-new", "-x509", "-config", configuration, "-days", AUTHORITY_DAYS),
            *("-key", self._own / "ca.key"),
        )
        self._list_revoked()
        return True

    def issue_server(self, names: Iterable[str], days: int) -> bool:
        """Create the gateway's certificate if none exists. Return True if this call created it.

        `names` are host names and addresses of the gateway. The first becomes the common name in
        the certificate, which is valid for the given number of days.
        """
        wanted = list(names)
        alternatives = "subjectAltName = " + ", ".join(map(_alternative_of, wanted))
        return self._issue(self.server, wanted[0], "serverAuth", alternatives, days)

    def issue_client(self, name: str, days: int) -> bool:
        """Create a certificate for the client `name`, unless the client already has one.

        The certificate is valid for `days` days. Return True if this call created it.
        """
        return self._issue(self.client(name), name, "clientAuth", "", days)

    def revoke(self, name: str) -> None:
        """Add a client's certificate to the revocation list.

        Raises AuthorityError if the client has no certificate.
        """
        certificate, _ = self.client(name)
        if not certificate.exists():
            raise AuthorityError(f"{certificate}: does not exist: nothing to revoke")
        _run("ca", "-config", self._configuration(), "-revoke", certificate)
        # If the index were lost, the next revocation list would not contain the client.
        fsync_file(self._own / "index")
        fsync_folder(self._own)
        self._list_revoked()

    def _issue(
        self, files: tuple[Path, Path], name: str, usage: str, alternatives: str, days: int
    ) -> bool:
        certificate, key = files
        if certificate.exists():
            return False
        certificate.parent.mkdir(exist_ok=True)
        if not key.exists():
            _make_key(key)
        configuration = self._configuration(name=name, usage=usage, alternatives=alternatives)
        request = self._own / "request.csr"
        _run("req", "-new", "-config", configuration, "-key", key, "-out", request)
        now = datetime.datetime.now(datetime.UTC)
        # Valid from yesterday, because the clocks of small machines differ.
        dates = [now - datetime.timedelta(days=1), now + datetime.timedelta(days=days)]
        begin, end = (each.strftime("%Y%m%d%H%M%SZ") for each in dates)
        self._run_into(
            certificate,
            *("ca", "-config", configuration, "-in", request, "-notext", "-batch"),
            *("-extensions", "issued", "-startdate", begin, "-enddate", end),
        )
        request.unlink()
        return True

    def _list_revoked(self) -> None:
        self._run_into(self.crl, "ca", "-config", self._configuration(), "-gencrl")

    def _run_into(self, file: Path, *arguments: object) -> None:
        """Run openssl with `file` as its output. All users can read this file."""
        partial = file.with_suffix(".partial")
        _run(*arguments, "-out", partial)
        _keep(partial, file, 0o644)

    def _configuration(
        self, name: str = "-", usage: str = "clientAuth", alternatives: str = ""
    ) -> Path:
        if re.search(r"[\n\r#$\\\"']", f"{self.folder}{name}"):
            raise AuthorityError(f"{self.folder}: openssl takes no quotes, #, $ or \\ in a path")
        file = self._own / "openssl.cnf"
        text = _CONFIGURATION.format(
            folder=self.folder,
            name=name[:COMMON_NAME_CHARACTERS_MAX],
            usage=usage,
            alternatives=alternatives,
            crl_days=AUTHORITY_DAYS,
        )
        file.write_text(text)
        return file


def names_of_this_machine() -> list[str]:
    """Return the host names and IP addresses by which clients can reach this machine."""
    name = socket.gethostname()
    found = [name, "localhost", "127.0.0.1", "::1"]
    if "." not in name:
        found.insert(1, f"{name}.local")
    for family, far in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((far, 9))  # sends nothing, only finds the route
            except OSError:
                continue  # no network of this family
            found.append(probe.getsockname()[0])
    return list(dict.fromkeys(found))


def _alternative_of(name: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(name)}"
    except ValueError:
        if HOST_NAME.fullmatch(name) is None:
            raise AuthorityError(f"{name!r}: is neither a host name nor an IP address") from None
        return f"DNS:{name}"


def _make_key(path: Path) -> None:
    partial = path.with_suffix(".partial")
    options = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    _run("genpkey", *options, "-out", partial)
    _keep(partial, path, 0o600)


def _keep(partial: Path, path: Path, mode: int) -> None:
    """Set the mode of the file `partial`, sync the file to disk, and rename it to `path`."""
    partial.chmod(mode)
    fsync_file(partial)
    move_durably(partial, path)


def _run(*arguments: object) -> None:
    """Run openssl. Raises AuthorityError with openssl's error message if it fails."""
    try:
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROGRAM_SECONDS,
            umask=0o077,
            env=os.environ | {"LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise AuthorityError(f"{PROGRAM} is not installed. Run apt install {PROGRAM}") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no word why"])[-1]
        raise AuthorityError(f"{PROGRAM} {arguments[0]} failed: {last}")
