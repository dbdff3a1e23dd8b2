"""The status page's certificate, read and checked in the same way as the broker's certificates.

This code is in its own module so that the page's process can import it without also loading the
modules that parse the command line.
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
    """Return the page's TLS files in the form that the broker's listeners use."""
    return TlsFiles(
        certificate=tls.certificate, key=tls.key, min_version=tls.min_version, alpn="http/1.1"
    )


def certificate_of(tls: PageTls) -> CertificateFiles:
    """Return the page's certificate files together with a function that loads them."""
    files = tls_files_of(tls)
    return CertificateFiles(tuple(files.paths), partial(usable_of, files))


def usable_of(files: TlsFiles) -> UsableCertificate:
    """Load the page's certificate. An expired certificate is still used, with a warning.

    Raises:
        CertificateUnusable: the files are missing or invalid.
    """
    try:
        loaded = load(files)
    except CertificateError as error:
        raise CertificateUnusable(str(error)) from None
    return UsableCertificate(loaded.context, loaded.warning_at, loaded.subject, loaded.not_after)
