"""The passwords and TLS files that the gateway's programs use to log in to a broker."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway.cli.common.failures import EXIT_CONFIGURATION, CommandFailed
from gateway.process.files.disk_errors import line_of
from gateway.process.files.private import SecretExposed, first_line_of

if TYPE_CHECKING:
    from gateway.configuration.tls import ClientTls
    from gateway.process.mqtt_client.tls import TlsFiles

PASSWORD_BYTES_MAX: Final = 65_535
"""Longest password in bytes: the limit of the field in CONNECT (section 3.1.3.5)."""


def tls_files_of(tls: "ClientTls | None") -> "TlsFiles | None":
    """Return the TLS files for a connection to a broker, or None for a connection without TLS."""
    from gateway.process.mqtt_client.tls import TlsFiles

    return None if tls is None else TlsFiles(tls.ca, tls.certificate, tls.key, tls.min_version)


def password_of(path: Path | None, named_by: str) -> str | None:
    """Return the first line of a password file without its line end, or None if `path` is None.

    Error messages contain `named_by`, the key or option that sets the path. Raises CommandFailed if
    the file cannot be used.
    """
    if path is None:
        return None
    try:
        return first_line_of(path, PASSWORD_BYTES_MAX)
    except SecretExposed as error:
        raise CommandFailed(f"{named_by}: {error}", exit_code=EXIT_CONFIGURATION) from None
    except (OSError, UnicodeDecodeError) as error:
        line_shown = line_of(error) if isinstance(error, OSError) else f"{path}: is not UTF-8"
        if isinstance(error, FileNotFoundError):
            line_shown += "; create it, with the secret as its first line and mode 0600"
        raise CommandFailed(f"{named_by}: {line_shown}", exit_code=EXIT_CONFIGURATION) from None
