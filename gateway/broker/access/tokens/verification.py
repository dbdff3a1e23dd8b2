"""Verifies JSON Web Tokens (RFC 7519) that an identity provider has signed (RFC 7515).

PyJWT checks the signature, `exp`, `nbf`, `iat`, `aud` and `iss`. This module decides which keys may
sign with which algorithm, and which claim contains the user name. HMAC is not allowed, because its
secret would be the provider's public key, with which anyone could sign a token.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import jwt

from gateway.broker.wire.topics import has_control_character

TOKEN_BYTES_MAX: Final = 16_384
"""Bytes of a token, at most. A token with a few hundred groups has 4 KiB."""

EXPIRY_SECONDS_MAX: Final = 253_402_300_800
"""Latest expiry time: the year 10000, in seconds since 1970."""

HEADER_CHARACTERS_MAX: Final = 4_096
"""Characters of a token's header, at most.

The header is parsed for every password, on the event loop's thread.
"""

RSA_BITS_MIN: Final = 2_048

NAME_BYTES_MAX: Final = 1_024
"""Bytes of a user name, at most: the same limit as in the password file."""

GROUPS_MAX: Final = 256
"""Groups in a token, at most.

For each connection, every group is looked up in every rule about a group.
"""

FAMILIES: Final[Mapping[str, tuple[str, str | None]]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", None),
}
"""The key type and curve for each algorithm (RFC 7518 section 3.1)."""


class TokenRefused(Exception):
    """Error raised if a token is not accepted.

    The message states the reason without quoting the token.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRules:
    """Requirements for tokens, from the configuration."""

    issuer: str
    audience: str
    username_claim: str = "sub"
    groups_claim: str | None = None
    client_id_claim: str | None = None
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    leeway_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Header:
    """The signature algorithm and key name in a token's header. They have not been verified."""

    algorithm: str
    key_id: str | None


@dataclass(frozen=True, slots=True)
class Token:
    """Verified contents of a token."""

    username: str
    groups: frozenset[str]
    lifetime_seconds: float
    """Seconds until the token expires, including the leeway."""


def header_of(token: bytes) -> Header | None:
    """Return the token's header, or None if `token` does not look like a signed token."""
    parts = token.split(b".", 3)
    if len(parts) != 3 or not all(parts) or not token.isascii():
        return None
    if len(parts[0]) > HEADER_CHARACTERS_MAX:
        return None
    try:
        padded = parts[0] + b"=" * (-len(parts[0]) % 4)
        header = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        return None
    if not isinstance(header, dict) or not isinstance(header.get("alg"), str):
        return None
    key_id = header.get("kid")
    return Header(header["alg"], key_id if isinstance(key_id, str) else None)


def check_header(token: bytes, header: Header, rules: TokenRules) -> None:
    """Raise TokenRefused if a token is too long, or if the algorithm in its header is not allowed.

    This check does not need the provider's keys.
    """
    if len(token) > TOKEN_BYTES_MAX:
        raise TokenRefused(f"a token of {len(token)} bytes, at most {TOKEN_BYTES_MAX} are read")
    if header.algorithm not in rules.algorithms or header.algorithm not in FAMILIES:
        allowed = ", ".join(rules.algorithms)
        raise TokenRefused(f"it is signed by {ascii(header.algorithm)[:40]}, allowed are {allowed}")


def token_of(
    token: bytes,
    header: Header,
    key: Mapping[str, Any],
    rules: TokenRules,
    *,
    client_id: str,
    now_seconds: float,
) -> Token:
    """Verify a token and return its contents. Raises TokenRefused if the token is not accepted.

    Args:
        token: the whole token.
        header: the token's header, accepted by `check_header`.
        key: JSON Web Key of the provider (RFC 7517).
        rules: requirements for the token.
        client_id: client identifier of the client that sent the token.
        now_seconds: the present time in seconds since 1970.
    """
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            _key_of(key, header.algorithm),
            algorithms=[header.algorithm],
            audience=rules.audience,
            issuer=rules.issuer,
            leeway=rules.leeway_seconds,
            options={"require": ["exp", "iss", "aud"]},
        )
    except jwt.PyJWTError as error:
        raise TokenRefused(_reason_of(error)) from None
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        # The provider has signed impossible numbers, or published an impossible key.
        raise TokenRefused("malformed") from None
    _refuse_client(claims, rules, client_id)
    expires_seconds = min(int(claims["exp"]), EXPIRY_SECONDS_MAX)
    lifetime_seconds = expires_seconds + rules.leeway_seconds - now_seconds
    return Token(_username_of(claims, rules), _groups_of(claims, rules), lifetime_seconds)


def _reason_of(error: jwt.PyJWTError) -> str:
    """Return the reason for a rejection, without quoting the token.

    PyJWT's own messages may quote the token, so they are not used.
    """
    reasons = {
        jwt.ExpiredSignatureError: "it has expired",
        jwt.ImmatureSignatureError: "it does not hold yet: nbf or iat is in the future",
        jwt.InvalidAudienceError: "its audience is another",
        jwt.InvalidIssuerError: "its issuer is another",
        jwt.MissingRequiredClaimError: "exp, iss or aud is missing",
        jwt.InvalidSignatureError: "its signature is wrong",
        jwt.InvalidKeyError: "the key cannot be used for it",
    }
    return next(
        (reason for kind, reason in reasons.items() if isinstance(error, kind)), "malformed"
    )


def _key_of(key: Mapping[str, Any], algorithm: str) -> jwt.PyJWK:
    """Return a PyJWT key for the given algorithm.

    Raises TokenRefused if the key cannot be used with the algorithm, or PyJWTError if the key is
    invalid.
    """
    kind, curve = FAMILIES[algorithm]
    if key.get("kty") != kind or (curve is not None and key.get("crv") != curve):
        raise TokenRefused(f"its key is not one for {algorithm}")
    if key.get("alg", algorithm) != algorithm:
        raise TokenRefused(f"its key is for another algorithm than {algorithm}")
    made = jwt.PyJWK(dict(key), algorithm=algorithm)
    bits = getattr(made.key, "key_size", None)
    if kind == "RSA" and (bits is None or bits < RSA_BITS_MIN):
        raise TokenRefused(f"its key has {bits} bits, at least {RSA_BITS_MIN} are expected")
    return made


def _refuse_client(claims: Mapping[str, Any], rules: TokenRules, client_id: str) -> None:
    name = rules.client_id_claim
    if name is not None and (not client_id or claims.get(name) != client_id):
        raise TokenRefused(f"its claim {name} is not the client identifier")


def _username_of(claims: Mapping[str, Any], rules: TokenRules) -> str:
    name = claims.get(rules.username_claim)
    if (
        not isinstance(name, str)
        or not 1 <= len(name.encode("utf-8", "replace")) <= NAME_BYTES_MAX
        or "\0" in name
        or has_control_character(name)
        or not name.isprintable()
    ):
        raise TokenRefused(f"its claim {rules.username_claim} is no name of a user")
    return name


def _groups_of(claims: Mapping[str, Any], rules: TokenRules) -> frozenset[str]:
    """Return the group names in the claim that `rules` selects.

    The claim is a list of strings, or one string in which spaces separate the names (RFC 8693).
    """
    if rules.groups_claim is None:
        return frozenset()
    written = claims.get(rules.groups_claim, [])
    words = written.split(" ") if isinstance(written, str) else written
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise TokenRefused(f"its claim {rules.groups_claim} is neither a text nor a list of texts")
    if len(words) > GROUPS_MAX:
        raise TokenRefused(f"its claim {rules.groups_claim} has more than {GROUPS_MAX} words")
    return frozenset(word for word in words if word)
