"""`[access.jwt]`: required keys, and addresses from which signing keys may be loaded."""

from pathlib import Path

import pytest

from gateway.configuration import ConfigurationError, load
from gateway.configuration.jwt import Jwt, ProviderUrl

NEEDED = "[access.jwt]\nissuer = 'https://login.example'\naudience = 'gateway'\n"


def test_issuer_and_audience_are_enough(file: Path) -> None:
    file.write_text(NEEDED)
    access = load(file, {}, {}, None).access
    assert access.jwt == Jwt(issuer="https://login.example", audience="gateway")
    assert access.sources == ("jwt",)
    assert access.jwt.algorithms == ("RS256", "ES256")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("[access.jwt]\nissuer = 'x'", "audience"),
        ("[access.jwt]\nissuer = 'x'\naudience = 'y'", "use jwks_url or jwks_file"),
        (f"{NEEDED}jwks_url = 'https://a'\njwks_file = 'f'", "either jwks_url or jwks_file"),
        (f"{NEEDED}ca = 'c'\njwks_file = 'f'", "no ca with jwks_file"),
        (f"{NEEDED}algorithms = ['HS256']", "one of RS256"),
        (f"{NEEDED}algorithms = ['none']", "one of RS256"),
        (f"{NEEDED}algorithms = []", "algorithms"),
        (f"{NEEDED}jwks_url = 'http://login.example/keys'", "with https, or with http on loopback"),
        (f"{NEEDED}leeway = '1h'", "leeway"),
    ],
)
def test_what_does_not_fit_is_refused(file: Path, lines: str, message: str) -> None:
    file.write_text(lines)
    with pytest.raises(ConfigurationError, match=message):
        load(file, {}, {}, None)


@pytest.mark.parametrize(
    "url", ["https://a", "https://[::1]:8/k?x=1", "http://127.0.0.1:8/keys", "http://localhost/"]
)
def test_keys_come_over_tls_or_from_this_machine(url: str) -> None:
    assert ProviderUrl().value_of(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://a/",
        "http://127.0.0.1.evil.example/",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "",
        "https://",
        "https://user:secret@a/",
        "https://[",
        "https://a:x/",
        "https://a b/",
        7,
    ],
)
def test_and_from_nowhere_else(url: object) -> None:
    with pytest.raises(ValueError, match="https"):
        ProviderUrl().value_of(url)


def test_the_order_names_each_source_once_and_all_of_them(file: Path) -> None:
    file.write_text(f"[access]\npassword_file = 'p'\norder = ['password_file', 'jwt']\n{NEEDED}")
    assert load(file, {}, {}, None).access.sources == ("password_file", "jwt")
    for order, message in (
        ("['jwt']", '"password_file" in order'),
        ("['jwt', 'jwt', 'password_file']", "names each source once"),
        ("['ldap']", "jwt, password_file"),
    ):
        file.write_text(f"[access]\npassword_file = 'p'\norder = {order}\n{NEEDED}")
        with pytest.raises(ConfigurationError, match=message):
            load(file, {}, {}, None)


def test_the_environment_can_hold_the_table() -> None:
    table = '{ issuer = "https://login.example", audience = "gateway", leeway = "5s" }'
    access = load(None, {"ONCEGATE_ACCESS_JWT": table}, {}, None).access
    assert access.jwt == Jwt(issuer="https://login.example", audience="gateway", leeway=5.0)
