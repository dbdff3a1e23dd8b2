"""`[api]`: who may see the page, and which addresses are allowed without users."""

from pathlib import Path

import pytest

from gateway.configuration import Configuration, ConfigurationError, load
from gateway.configuration.page import Api

USERS = "[access]\npassword_file = 'p'\n[api]\n"

JWT = "[access.jwt]\nissuer = 'i'\naudience = 'a'\njwks_file = 'k'\n"
GROUPS = "groups_claim = 'groups'\n[api]\n"
MYSQL = "[access.mysql]\nsocket = 's'\nuser = 'u'\ndatabase = 'd'\nquery = '{}'\n"


def loaded(file: Path, content: str) -> Configuration:
    file.write_text(content)
    return load(file, {}, {}, None)


def problem_of(file: Path, content: str) -> str:
    with pytest.raises(ConfigurationError) as refused:
        loaded(file, content)
    (line,) = refused.value.problems
    return line


@pytest.mark.parametrize(
    ("page", "listens_at", "address"),
    [
        (Api(), "127.0.0.1", "127.0.0.1"),
        (Api(bind="localhost"), "localhost", "localhost"),
        (Api(bind="0.0.0.0"), "127.0.0.1", "127.0.0.1"),  # noqa: S104
        (Api(bind="192.0.2.1"), "127.0.0.1", "127.0.0.1"),
        (Api(bind="::"), "::1", "::1"),
        (Api(bind="0.0.0.0", viewers=("anna",)), "0.0.0.0", "127.0.0.1"),  # noqa: S104
        (Api(bind="::", viewer_groups=("house",)), "::", "::1"),
        (Api(bind="::", operators=("anna",)), "::", "::1"),
        (Api(bind="192.0.2.1", administrators=("anna",)), "192.0.2.1", "192.0.2.1"),
        (Api(bind="0.0.0.0", allow_anonymous_network=True), "0.0.0.0", "127.0.0.1"),  # noqa: S104
    ],
)
def test_without_users_the_page_stays_on_loopback(page: Api, listens_at: str, address: str) -> None:
    assert page.listens_at == listens_at
    assert page.stays_on_loopback is (listens_at != page.bind)
    assert page.is_reached_from_network is not listens_at.startswith(("127.", "::1", "localhost"))
    assert page.address == (address, 8080)


def test_each_user_has_one_role(file: Path) -> None:
    page = loaded(
        file, USERS + "viewers = ['a', 'b']\noperators = ['c']\nadministrators = ['d']\n"
    ).api
    assert page.roles == {"a": "viewer", "b": "viewer", "c": "operator", "d": "administrator"}
    assert not Api().roles
    line = problem_of(file, USERS + "viewers = ['a']\noperators = ['b', 'a']\n")
    assert '"a" only once, in viewers, operators or administrators' in line


@pytest.mark.parametrize(
    ("content", "fix"),
    [
        ("[api]\nviewers = ['a']", "[access] password_file, jwt or mysql with [api] viewers"),
        ("[api]\ntokens_file = 't'", "or groups of them, together with tokens_file"),
        (USERS + "viewers = ['a']\nallow_anonymous_network = true", "no allow_anonymous_network"),
        (USERS + 'viewers = ["a\\u0007b"]', "[api] viewers"),
        (USERS + "viewer_groups = ['a b']", "[api] viewer_groups"),
        (USERS + "viewer_groups = ['a']", "[access.jwt] groups_claim, or user_groups"),
        (JWT + "[api]\nviewer_groups = ['a']", "[access.jwt] groups_claim, or user_groups"),
        (USERS + "viewers = ['']", "[api] viewers"),
        ("[api]\nhosts = ['https://gateway.example']", "a host name without scheme and port"),
        ("[api]\nhosts = ['gateway.example:8080']", "a host name without scheme and port"),
        ("[api]\nhosts = 'gateway.example'", "a list in brackets"),
        ("[api]\ntls = { certificate = 'c' }", "[api] tls"),
        ("[api.tls]\ncertificate = 'c'\nkey = 'k'\nca = 'x'", "[api] tls"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_line(file: Path, content: str, fix: str) -> None:
    assert fix in problem_of(file, content)


def test_groups_have_roles_where_tokens_or_rows_name_groups(file: Path) -> None:
    named = "viewer_groups = ['a', 'b']\nadministrator_groups = ['c']\n"
    page = loaded(file, JWT + GROUPS + named).api
    assert page.group_roles == {"a": "viewer", "b": "viewer", "c": "administrator"}
    assert page.has_users
    assert not page.roles
    query = "SELECT password_hash, user_groups FROM t WHERE u = ${username}"
    assert loaded(file, MYSQL.format(query) + "[api]\n" + named).api.has_users
    assert loaded(file, JWT + "[api]\nviewers = ['auth0|7:x']").api.roles == {"auth0|7:x": "viewer"}
    line = problem_of(file, JWT + GROUPS + named + "operator_groups = ['c']")
    assert '"c" only once, in viewer_groups, operator_groups or administrator_groups' in line


def test_names_are_compared_as_dns_does(file: Path) -> None:
    assert loaded(file, "[api]\nhosts = ['Gateway.Example.', 'b']").api.hosts == (
        "gateway.example",
        "b",
    )
