"""TLS contexts for connections to brokers. A broker's certificate and name are always verified."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of a TLS client's PEM files, and the oldest TLS version that is accepted.

    If `ca` is None, the operating system's certificate authorities are trusted.
    """

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    min_version: Literal["1.2", "1.3"] = "1.2"


def context_of(files: TlsFiles) -> ssl.SSLContext:
    """Load the PEM files and return a TLS context.

    The files are loaded for each connection, because certificates can be renewed.

    Raises:
        OSError: if a file is unreadable or invalid. The message is one line that names the file.
    """
    context = ssl.create_default_context()
    if files.ca is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        _load(files.ca, lambda: context.load_verify_locations(files.ca))
    context.minimum_version = _VERSIONS[files.min_version]
    if files.certificate is not None:
        certificate, key = files.certificate, files.key
        _load(certificate, lambda: context.load_cert_chain(certificate, key, password=_no_password))
    return context


def _no_password() -> str:
    # OpenSSL would prompt at the terminal.
    raise OSError("the key is encrypted: store it without a password, mode 0600")


def _load(path: Path, load: Callable[[], None]) -> None:
    try:
        load()
    except ssl.SSLError as error:
        raise OSError(
            f"{path}: {error.reason or error}: check that it is PEM, and its key"
        ) from None
    except OSError as error:
        raise OSError(f"{path}: {error.strerror or error}") from None
