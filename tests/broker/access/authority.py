"""A certificate authority for tests: real certificates, created with the `openssl` program."""

import datetime
import os
import subprocess
from pathlib import Path

DAY = datetime.timedelta(days=1)
CONFIGURATION = """
[ca]
default_ca = authority
[authority]
dir = {folder}
database = $dir/index
new_certs_dir = $dir
serial = $dir/serial
crlnumber = $dir/crlnumber
certificate = $dir/ca.pem
private_key = $dir/ca.key
default_md = sha256
default_days = 90
default_crl_days = 30
policy = any
unique_subject = no
copy_extensions = copy
[any]
commonName = optional
organizationName = optional
"""


def openssl(*arguments: object) -> None:
    """Run the program; if it fails, raise AssertionError with its error output."""
    done = subprocess.run(
        ["openssl", *map(str, arguments)], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


class Authority:
    """A private certificate authority in a folder of its own."""

    def __init__(self, folder: Path, name: str = "test authority") -> None:
        folder.mkdir()
        self.folder = folder
        self.ca = folder / "ca.pem"
        self._configuration = folder / "openssl.cnf"
        self._configuration.write_text(CONFIGURATION.format(folder=folder))
        for file, content in (("index", ""), ("serial", "1000\n"), ("crlnumber", "01\n")):
            (folder / file).write_text(content)
        new_key(folder / "ca.key")
        openssl(
            *("req", "-x509", "-new", "-key", folder / "ca.key", "-out", self.ca),
            *("-days", 100, "-subj", f"/CN={name}"),
            # Python 3.13 requires this extension, as RFC 5280 does.
            *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
        )

    def issue(
        self,
        name: str,
        *,
        subject: str | None = None,
        alternatives: str = "",
        client: bool = False,
        begins: datetime.timedelta = -DAY,
        ends: datetime.timedelta = 60 * DAY,
    ) -> tuple[Path, Path]:
        """Issue a certificate; return the paths of NAME.pem and of its key NAME.key."""
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        request = self.folder / f"{name}.csr"
        new_key(key)
        usage = "clientAuth" if client else "serverAuth"
        extensions = ["-addext", f"extendedKeyUsage={usage}"]
        if alternatives:
            extensions += ["-addext", f"subjectAltName={alternatives}"]
        subject = f"/CN={name}" if subject is None else subject
        openssl(
            *("req", "-new", "-key", key, "-out", request, "-subj", subject, *extensions),
        )
        self._as_authority(
            *("-in", request, "-out", certificate, "-notext", "-batch"),
            *("-startdate", stamp(begins), "-enddate", stamp(ends)),
        )
        return certificate, key

    def revoke(self, certificate: Path) -> None:
        """Revoke a certificate: the next revocation list will contain it."""
        self._as_authority("-revoke", certificate)

    def list_revoked(self) -> Path:
        """Write the revocation list and return its path; the file is replaced atomically."""
        file = self.folder / "crl.pem"
        self._as_authority("-gencrl", "-out", self.folder / "crl.new")
        os.replace(self.folder / "crl.new", file)
        return file

    def _as_authority(self, *arguments: object) -> None:
        openssl("ca", "-config", self._configuration, *arguments)


def new_key(path: Path) -> None:
    """Create a private key that only its owner can read."""
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)
    path.chmod(0o600)


def stamp(offset: datetime.timedelta) -> str:
    """Return the time at this offset from now, in the format of certificates."""
    return (datetime.datetime.now(datetime.UTC) + offset).strftime("%Y%m%d%H%M%SZ")
