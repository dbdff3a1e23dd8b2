"""TLS settings (`tls = { ... }`) for listeners, the status page, and connections to brokers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from gateway.configuration.addresses import FilePath
from gateway.process.declarations.quantities import refusal
from gateway.process.declarations.section import Section


@dataclass(frozen=True, kw_only=True)
class Tls(Section):
    """A listener's certificate, and its requirements for client certificates."""

    descriptions: ClassVar[Mapping[str, str]] = {
        "certificate": "PEM file of the server's certificate and its intermediate certificates.",
        "key": "PEM file of the private key, which no other user may read.",
        "ca": "PEM file of the authorities that are trusted for client certificates.",
        "crl": "PEM file of the authorities' revocation lists.",
        "client_certificates": "Requirement for client certificates.",
        "username": "Field of a client's certificate that is used as the user name.",
        "min_version": "Oldest TLS version that is accepted.",
    }

    certificate: Annotated[Path, FilePath()]
    key: Annotated[Path, FilePath()]
    ca: Annotated[Path, FilePath()] | None = None
    crl: Annotated[Path, FilePath()] | None = None
    client_certificates: Literal["none", "optional", "required"] = "none"
    username: Literal["common_name", "dns_name", "email", "none"] = "common_name"
    min_version: Literal["1.2", "1.3"] = "1.2"

    def check(self) -> None:
        if self.client_certificates == "none":
            for key in ("ca", "crl"):
                if getattr(self, key) is not None:
                    raise refusal(f'client_certificates = "required" or "optional" with {key}')
        elif self.ca is None:
            raise refusal("ca, the authorities of clients' certificates, with client_certificates")

    @property
    def proves_users(self) -> bool:
        """True if a client certificate can identify a user."""
        return self.client_certificates != "none" and self.username != "none"

    @property
    def demands_users(self) -> bool:
        """True if every client must identify its user with a certificate before sending CONNECT."""
        return self.client_certificates == "required" and self.username != "none"


@dataclass(frozen=True, kw_only=True)
class PageTls(Section):
    """Settings for the status page's certificate."""

    descriptions: ClassVar[Mapping[str, str]] = {
        key: Tls.descriptions[key] for key in ("certificate", "key", "min_version")
    }

    certificate: Annotated[Path, FilePath()]
    key: Annotated[Path, FilePath()]
    min_version: Literal["1.2", "1.3"] = "1.2"


@dataclass(frozen=True, kw_only=True)
class ClientTls(Section):
    """TLS settings for a connection to a broker: authorities, client certificate, TLS version."""

    descriptions: ClassVar[Mapping[str, str]] = {
        "ca": "PEM file of the authorities that are trusted for the broker. Default: the system's.",
        "certificate": "PEM file of this gateway's own certificate, if the broker requires one.",
        "key": "PEM file of the private key of that certificate, which no other user may read.",
        "min_version": "Oldest TLS version that is accepted.",
    }

    ca: Annotated[Path, FilePath()] | None = None
    certificate: Annotated[Path, FilePath()] | None = None
    key: Annotated[Path, FilePath()] | None = None
    min_version: Literal["1.2", "1.3"] = "1.2"

    def check(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise refusal("certificate and key together, or neither")
