"""The status page's certificate, read and checked like those of the broker's listeners.

A separate module, because the page's process imports it and must not load what only reads a command
line.
"""

from functools import partial

from api.connections.certificate_files import (
    CertificateFiles,
    CertificateUnusable,
    UsableCertificate,
)
from gateway.broker.access.certificates.listener import CertificateError, TlsFiles, load
from gateway.configuration.tls import PageTls


def tls_files_of(tls: PageTls) -> TlsFiles:
    """Return the page's TLS files in the form that listeners use."""
    return TlsFiles(
        certificate=tls.certificate, key=tls.key, min_version=tls.min_version, alpn="http/1.1"
    )


def certificate_of(tls: PageTls) -> CertificateFiles:
    """Return the certificate's files, and a function that loads them, for the page."""
    files = tls_files_of(tls)
    return CertificateFiles(tuple(files.paths), partial(usable_of, files))


def usable_of(files: TlsFiles) -> UsableCertificate:
    """Load the certificate. An expired one is still used, with a warning.

    Raises:
        CertificateUnusable: the files cannot be used.
    """
    try:
        loaded = load(files)
    except CertificateError as error:
        raise CertificateUnusable(str(error)) from None
    return UsableCertificate(loaded.context, loaded.warning_at, loaded.subject, loaded.not_after)
