"""The claims of a signed token, and all reasons for which a token is refused."""

import base64
import hmac
import json
import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.access.tokens.verification import (
    TOKEN_BYTES_MAX,
    Token,
    TokenRefused,
    TokenRules,
    check_header,
    header_of,
    token_of,
)
from tests.peers.identity_provider import Signer, signer

ISSUER, AUDIENCE = "https://login.example", "oncegate"
RULES = TokenRules(issuer=ISSUER, audience=AUDIENCE, leeway_seconds=0)
KEY = signer()
ANY = ("RS256", "RS512", "PS256", "ES256", "ES384", "EdDSA")


def signed(by: Signer = KEY, **claims: object) -> bytes:
    now = int(time.time())
    body: dict[str, object] = {"iss": ISSUER, "aud": AUDIENCE, "sub": "anna", "exp": now + 60}
    body = {name: value for name, value in (body | claims).items() if value is not None}
    return jwt.encode(body, by.key, algorithm=by.algorithm, headers={"kid": by.name}).encode()


def proven(token: bytes, rules: TokenRules = RULES, by: Signer = KEY, client_id: str = "") -> Token:
    header = header_of(token)
    assert header is not None
    check_header(token, header, rules)
    return token_of(token, header, by.public, rules, client_id=client_id, now_seconds=time.time())


def test_a_token_names_its_user_and_how_long_it_holds() -> None:
    token = proven(signed())
    assert (token.username, token.groups) == ("anna", frozenset())
    assert 55 < token.lifetime_seconds <= 60


@pytest.mark.parametrize(
    "by",
    [
        Signer("rsa", rsa.generate_private_key(65_537, 2_048), "RS512"),
        Signer("ec", ec.generate_private_key(ec.SECP384R1()), "ES384"),
        Signer("ed", ed25519.Ed25519PrivateKey.generate(), "EdDSA"),
    ],
    ids=lambda by: by.algorithm,
)
def test_algorithms_with_public_keys_are_checked_where_they_are_allowed(by: Signer) -> None:
    token = signed(by)
    rules = TokenRules(issuer=ISSUER, audience=AUDIENCE, algorithms=ANY)
    assert proven(token, rules, by).username == "anna"
    with pytest.raises(TokenRefused, match="allowed are RS256, ES256"):
        proven(token, RULES, by)
    other = Signer(by.name, KEY.key, by.algorithm)
    with pytest.raises(TokenRefused, match="its key is not one for"):
        proven(token, rules, other)


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"exp": 1}, "it has expired"),
        ({"nbf": int(time.time()) + 3600}, "does not hold yet"),
        ({"iat": int(time.time()) + 3600}, "does not hold yet"),
        ({"aud": "another"}, "its audience is another"),
        ({"aud": None}, "missing"),
        ({"iss": "https://evil.example"}, "its issuer is another"),
        ({"iss": None}, "missing"),
        ({"exp": None}, "missing"),
        ({"exp": "soon"}, "malformed"),
        ({"exp": [1]}, "malformed"),
        ({"exp": float("inf")}, "malformed"),
        ({"sub": None}, "its claim sub is no name of a user"),
        ({"sub": ""}, "no name of a user"),
        ({"sub": "a\x00b"}, "no name of a user"),
        ({"sub": "a\nb"}, "no name of a user"),
        ({"sub": "x" * 1_025}, "no name of a user"),
    ],
)
def test_a_token_that_does_not_hold_is_refused(claims: dict[str, object], reason: str) -> None:
    with pytest.raises(TokenRefused, match=reason):
        proven(signed(KEY, **claims))


def test_leeway_is_for_clocks_that_differ() -> None:
    rules = TokenRules(issuer=ISSUER, audience=AUDIENCE, leeway_seconds=30)
    late = signed(exp=int(time.time()) - 10)
    assert 15 < proven(late, rules).lifetime_seconds <= 20
    with pytest.raises(TokenRefused, match="expired"):
        proven(late)


def test_a_time_without_end_ends_somewhere() -> None:
    assert proven(signed(exp=10**400)).lifetime_seconds < 10**12


def test_a_token_by_another_key_of_the_same_name_is_refused() -> None:
    with pytest.raises(TokenRefused, match="signature is wrong"):
        proven(signed(signer()))


def encoded(part: object) -> bytes:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")


@pytest.mark.parametrize("algorithm", ["none", "None", "HS256", "hs256", "ES256K", ""])
def test_a_token_that_anyone_could_have_made_is_refused(algorithm: str) -> None:
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "anna", "exp": int(time.time()) + 60}
    unsigned = encoded({"alg": algorithm, "kid": "first"}) + b"." + encoded(claims)
    secret = json.dumps(KEY.public).encode()
    mac = base64.urlsafe_b64encode(hmac.digest(secret, unsigned, "sha256")).rstrip(b"=")
    with pytest.raises(TokenRefused, match="allowed are RS256, ES256"):
        proven(unsigned + b"." + mac)


def test_a_key_is_used_only_with_the_algorithm_that_it_names() -> None:
    token = signed()
    header = header_of(token)
    assert header is not None
    for change, reason in (
        ({"alg": "ES384"}, "another algorithm"),
        ({"crv": "P-384"}, "not one for ES256"),
        ({"x": "AA"}, "malformed|cannot be used"),
        ({"x": 7}, "malformed|cannot be used"),
    ):
        key = KEY.public | change
        with pytest.raises(TokenRefused, match=reason):
            token_of(token, header, key, RULES, client_id="", now_seconds=time.time())


@pytest.mark.filterwarnings("ignore:.*key")
def test_a_short_key_of_rsa_is_refused() -> None:
    short = Signer("short", rsa.generate_private_key(65_537, 1_024), "RS256")  # noqa: S505
    with pytest.raises(TokenRefused, match="1024 bits"):
        proven(signed(short), by=short)


def test_a_header_that_demands_what_is_not_known_is_refused() -> None:
    token = jwt.encode(
        {"iss": ISSUER, "aud": AUDIENCE, "sub": "anna", "exp": int(time.time()) + 60},
        KEY.key,
        algorithm="ES256",
        headers={"kid": "first", "crit": ["exp2"], "exp2": 1},
    )
    with pytest.raises(TokenRefused):
        proven(token.encode())


def test_a_long_token_is_not_read() -> None:
    with pytest.raises(TokenRefused, match=f"at most {TOKEN_BYTES_MAX}"):
        proven(signed(long="x" * TOKEN_BYTES_MAX))


def test_groups_are_the_words_of_a_claim() -> None:
    rules = TokenRules(issuer=ISSUER, audience=AUDIENCE, groups_claim="scope")
    assert proven(signed(scope="read write "), rules).groups == {"read", "write"}
    assert proven(signed(scope=["read", "to write"]), rules).groups == {"read", "to write"}
    assert proven(signed(), rules).groups == frozenset()
    assert proven(signed(scope="read")).groups == frozenset(), "only where it is configured"
    for wrong in (7, {"a": 1}, ["a", 7], ["a"] * 257):
        with pytest.raises(TokenRefused, match="its claim scope"):
            proven(signed(scope=wrong), rules)


def test_a_token_can_be_bound_to_a_client_identifier() -> None:
    rules = TokenRules(issuer=ISSUER, audience=AUDIENCE, client_id_claim="device")
    assert proven(signed(device="d1"), rules, client_id="d1").username == "anna"
    for token, client_id in (
        (signed(device="d1"), "d2"),
        (signed(), "d1"),
        (signed(device=""), ""),
    ):
        with pytest.raises(TokenRefused, match="its claim device is not the client identifier"):
            proven(token, rules, client_id=client_id)


def test_another_claim_can_be_the_user() -> None:
    rules = TokenRules(issuer=ISSUER, audience=AUDIENCE, username_claim="preferred_username")
    assert proven(signed(preferred_username="ben"), rules).username == "ben"


@pytest.mark.parametrize(
    "text",
    [b"", b"secret", b"a.b", b"a.b.c", b"a.b.c.d", b"..", b"e30.e30.e30", b"\xff.\xff.\xff"],
)
def test_a_password_is_no_token(text: bytes) -> None:
    assert header_of(text) is None


def test_a_long_header_is_not_read() -> None:
    for size, is_read in ((1_000, True), (10_000, False)):
        token = encoded({"alg": "ES256", "kid": "x" * size}) + b".e30.x"
        assert (header_of(token) is not None) == is_read


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_no_bytes_raise_anything_else(first: bytes, second: bytes) -> None:
    header_of(first + b"." + second + b".x")
    token = encoded({"alg": "ES256"}) + b"." + base64.urlsafe_b64encode(first) + b"." + second
    header = header_of(token)
    if header is not None:
        with pytest.raises(TokenRefused):
            token_of(token, header, KEY.public, RULES, client_id="", now_seconds=0.0)
