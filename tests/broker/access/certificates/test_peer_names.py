"""The user name that a client certificate proves: exactly one name, or a refusal."""

from typing import Any

import pytest

from gateway.broker.access.certificates.peer_names import NoUser, user_of

PEER: dict[str, Any] = {
    "subject": ((("organizationName", "site"),), (("commonName", "cellar"),)),
    "subjectAltName": (("DNS", "cellar.example"), ("email", "a@example"), ("DNS", "b.example")),
}


@pytest.mark.parametrize(
    ("username", "user"), [("common_name", "cellar"), ("email", "a@example"), ("none", None)]
)
def test_the_listener_states_which_name_is_the_user(username: str, user: str | None) -> None:
    assert user_of(PEER, username) == user


def test_of_two_names_neither_is_the_user() -> None:
    with pytest.raises(NoUser, match="has 2 dns_name as alternative name, expected one"):
        user_of(PEER, "dns_name")


@pytest.mark.parametrize("username", ["common_name", "dns_name", "email"])
def test_a_certificate_without_the_name_proves_no_user(username: str) -> None:
    with pytest.raises(NoUser, match="has no "):
        user_of({"subject": ((("organizationName", "site"),),)}, username)


@pytest.mark.parametrize("name", ["", "a\nb", "a\0b", "a\x7f", "x" * 1_025, "ä" * 513])
def test_a_name_that_a_user_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(NoUser, match="cannot be a user's"):
        user_of({"subject": ((("commonName", name),),)}, "common_name")
