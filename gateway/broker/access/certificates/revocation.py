"""Parses certificate revocation lists (CRLs) to find out which certificates are revoked.

This module reads only the fields that identify certificates. The lengths of fields must be
definite, as DER requires. OpenSSL verifies the list's signature at every handshake. The parsed list
is used to close open connections whose certificates were revoked after the handshake.

Source: RFC 5280, sections 4.1 (Certificate) and 5.1 (CertificateList)::

    Certificate      SEQUENCE { tbs SEQUENCE {
                         [0] version OPTIONAL, serialNumber INTEGER, signature SEQUENCE,
                         issuer SEQUENCE, ... }, ... }
    CertificateList  SEQUENCE { tbs SEQUENCE {
                         version INTEGER OPTIONAL, signature SEQUENCE, issuer SEQUENCE,
                         thisUpdate Time, nextUpdate Time OPTIONAL,
                         revokedCertificates SEQUENCE OF SEQUENCE {
                             serialNumber INTEGER, ... } OPTIONAL, ... }, ... }
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_INTEGER: Final = 0x02
_SEQUENCE: Final = 0x30
_TIMES: Final = (0x17, 0x18)
_VERSION: Final = 0xA0
_LIST: Final = re.compile(rb"-----BEGIN X509 CRL-----(.*?)-----END X509 CRL-----", re.DOTALL)


class Issued(NamedTuple):
    """Identity of a certificate: its issuer (a name in DER) and its serial number."""

    issuer: bytes
    serial: int

    @property
    def name(self) -> str:
        """The identity as a short string: a hash of the issuer, and the serial number in hex."""
        return f"{hashlib.sha256(self.issuer).hexdigest()[:32]}:{self.serial:x}"


class NotDer(ValueError):
    """Error raised if bytes are not a valid certificate or revocation list."""


class _Element(NamedTuple):
    tag: int
    start: int
    end: int


def issued_of(certificate: bytes) -> Issued:
    """Return the issuer and the serial number of a DER-encoded certificate.

    Raises NotDer if the certificate cannot be parsed.
    """
    fields = _fields_of_signed(certificate)
    if fields and fields[0].tag == _VERSION:
        del fields[0]
    serial, _, issuer = _expected(fields, (_INTEGER, _SEQUENCE, _SEQUENCE))
    return Issued(_bytes_of(certificate, issuer), _number_of(certificate, serial))


def names_of(lists: Iterable[frozenset[Issued]]) -> frozenset[str]:
    """Return the short names (`Issued.name`) of all certificates in `lists`.

    Each item of `lists` is the set of certificates that are revoked for one listener.
    """
    return frozenset(issued.name for each in lists for issued in each)


def revoked_in(pem: bytes) -> frozenset[Issued]:
    """Return all certificates that are revoked by the revocation lists in a PEM file.

    `pem` is the contents of the file. Raises NotDer if one of its revocation lists is invalid.
    """
    return frozenset(revoked for found in _LIST.findall(pem) for revoked in _revoked_in(found))


def _revoked_in(encoded: bytes) -> Iterator[Issued]:
    try:
        data = base64.b64decode(b"".join(encoded.split()), validate=True)
    except binascii.Error as error:
        raise NotDer(f"a revocation list is not base64: {error}") from None
    fields = _fields_of_signed(data)
    if fields and fields[0].tag == _INTEGER:
        del fields[0]
    _, issuer, _ = _expected(fields, (_SEQUENCE, _SEQUENCE, None))
    name = _bytes_of(data, issuer)
    for field in fields[2:]:
        if field.tag == _SEQUENCE:
            for entry in _elements(data, field.start, field.end):
                (serial,) = _expected(list(_elements(data, entry.start, entry.end)), (_INTEGER,))
                yield Issued(name, _number_of(data, serial))
        elif field.tag not in _TIMES:
            return  # extensions, which follow the list of certificates


def _fields_of_signed(data: bytes) -> list[_Element]:
    """Return the DER elements in the signed part of a certificate or revocation list.

    The signed part is the first element in the outer sequence.
    """
    (outer,) = _expected(list(_elements(data, 0, len(data))), (_SEQUENCE,))
    (signed,) = _expected(list(_elements(data, outer.start, outer.end)), (_SEQUENCE,))
    return list(_elements(data, signed.start, signed.end))


def _expected(fields: list[_Element], tags: tuple[int | None, ...]) -> list[_Element]:
    """Check that the first fields have the given tags, and return these fields.

    Raises NotDer if a field is missing or has another tag. The tag None matches any field.
    """
    first = fields[: len(tags)]
    matches = all(tag in (None, field.tag) for tag, field in zip(tags, first, strict=False))
    if len(first) < len(tags) or not matches:
        raise NotDer(f"tags {[field.tag for field in first]}, expected {list(tags)}")
    return first


def _elements(data: bytes, position: int, end: int) -> Iterator[_Element]:
    """Yield the DER elements between two offsets in `data`, without parsing their contents."""
    while position < end:
        header = data[position : position + 2]
        if len(header) < 2:
            raise NotDer("an element is cut off")
        tag, length = header
        start = position + 2
        if length >= 0x80:
            length_bytes = length & 0x7F
            if not 1 <= length_bytes <= 4:
                raise NotDer(f"a length of {length_bytes} bytes, expected 1 to 4")
            length = int.from_bytes(data[start : start + length_bytes], "big")
            start += length_bytes
        if start + length > end:
            raise NotDer("an element is longer than what it is in")
        yield _Element(tag, start, start + length)
        position = start + length


def _bytes_of(data: bytes, element: _Element) -> bytes:
    return data[element.start : element.end]


def _number_of(data: bytes, element: _Element) -> int:
    return int.from_bytes(_bytes_of(data, element), "big", signed=True)
