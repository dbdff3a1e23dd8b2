"""Settings for authentication with the tokens of an identity provider: `[access.jwt]`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

from gateway.configuration.addresses import FilePath, is_loopback
from gateway.process.declarations.quantities import Duration, Items, Quantity, Text, refusal
from gateway.process.declarations.section import Section

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Allowed algorithms. HS256 is not one: with it, anyone who can verify tokens can create them."""

_CLAIM = Text(r"[^\x00]{1,256}", "the name of a claim, 1 to 256 characters")
_ALGORITHM = Text("|".join(ALGORITHMS), f"one of {', '.join(ALGORITHMS)}")
_URL = re.compile(r"[\x21-\x7e]{1,2048}")


@dataclass(frozen=True, slots=True)
class ProviderUrl(Quantity):
    """URL of an identity provider's public keys.

    The URL must use https, unless the provider runs on this machine.
    """

    def value_of(self, written: object) -> str:
        allowed = 'a URL with https, or with http on loopback, like "https://login.example/keys"'
        if not isinstance(written, str) or not _URL.fullmatch(written):
            raise refusal(allowed)
        try:
            parts = urlsplit(written)
            host, _ = parts.hostname, parts.port
        except ValueError:
            raise refusal(allowed) from None
        if not host or parts.username is not None:
            raise refusal(allowed)
        if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
            raise refusal(allowed)
        return written

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": r"^[hH][tT][tT][pP][sS]?://[\x21-\x7e]+$"}


@dataclass(frozen=True, kw_only=True)
class Jwt(Section):
    """Settings for users with tokens signed by an identity provider (JWT, OpenID Connect)."""

    descriptions: ClassVar[Mapping[str, str]] = {
        "issuer": "Name of the provider. The claim iss must be equal to it.",
        "audience": "Name of this gateway at the provider. The claim aud must contain it.",
        "jwks_url": "URL of the provider's keys. Default: the URL from the issuer's discovery.",
        "jwks_file": "File with the provider's keys, which are then not fetched.",
        "ca": "PEM file of the certificate authorities that are trusted for the provider.",
        "username_claim": "Claim that contains the user name.",
        "groups_claim": "Claim that contains the groups for access rules.",
        "client_id_claim": "Claim that must be equal to the client id.",
        "algorithms": "Accepted signature algorithms of tokens.",
        "leeway": "Tolerated difference between this machine's clock and the provider's.",
        "cache": "Time after which the provider's keys are fetched again.",
        "keep": "Longest time that the keys are used while the provider does not respond.",
        "timeout": "Maximum time for fetching the keys.",
    }

    issuer: Annotated[str, Text(r"[^\x00]{1,1024}", "a text of 1 to 1024 characters")]
    audience: Annotated[str, Text(r"[^\x00]{1,1024}", "a text of 1 to 1024 characters")]
    jwks_url: Annotated[str, ProviderUrl()] | None = None
    jwks_file: Annotated[Path, FilePath()] | None = None
    ca: Annotated[Path, FilePath()] | None = None
    username_claim: Annotated[str, _CLAIM] = "sub"
    groups_claim: Annotated[str, _CLAIM] | None = None
    client_id_claim: Annotated[str, _CLAIM] | None = None
    algorithms: Annotated[tuple[Annotated[str, _ALGORITHM], ...], Items(1)] = ("RS256", "ES256")
    leeway: Annotated[float, Duration(0, 300)] = 10.0
    cache: Annotated[float, Duration(1, 86400)] = 3600.0
    keep: Annotated[float, Duration(0, 30 * 86400)] = 86400.0
    timeout: Annotated[float, Duration(0.1, 60)] = 5.0

    def check(self) -> None:
        if self.jwks_file is not None:
            if self.jwks_url is not None:
                raise refusal("either jwks_url or jwks_file")
            if self.ca is not None:
                raise refusal("no ca with jwks_file: nothing is fetched")
        elif self.jwks_url is None:
            try:
                ProviderUrl().value_of(self.issuer)
            except ValueError:
                raise refusal(
                    "jwks_url or jwks_file: the keys cannot be discovered, because the issuer is "
                    "not an https URL"
                ) from None
