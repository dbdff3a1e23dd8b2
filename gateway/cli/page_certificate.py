"""The page's certificate, read and judged as those of the broker's listeners are.

It is a module of its own because the page's process has it, and imports nothing that only reads a
command line.
"""

from functools import partial

from api.certificate import CertificateFiles, CertificateUnusable, UsableCertificate
from gateway.access.certificates import CertificateError, TlsFiles, load
from gateway.configuration.tls import PageTls


def tls_files_of(tls: PageTls) -> TlsFiles:
    """Return the files as certificates are read from."""
    return TlsFiles(
        certificate=tls.certificate, key=tls.key, min_version=tls.min_version, alpn="http/1.1"
    )


def certificate_of(tls: PageTls) -> CertificateFiles:
    """Return the files, and how they are read, for the page."""
    files = tls_files_of(tls)
    return CertificateFiles(tuple(files.paths), partial(usable_of, files))


def usable_of(files: TlsFiles) -> UsableCertificate:
    """Read the files; a certificate that has expired is used, and warned of.

    Raises:
        CertificateUnusable: they cannot be served with.
    """
    try:
        loaded = load(files)
    except CertificateError as error:
        raise CertificateUnusable(str(error)) from None
    return UsableCertificate(loaded.context, loaded.warning_at)
