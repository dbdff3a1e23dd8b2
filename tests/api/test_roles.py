"""The order of roles, and their words."""

from api.roles import ROLES_BY_WORD, Role


def test_each_role_may_do_what_those_before_it_may() -> None:
    assert Role.VIEWER < Role.OPERATOR < Role.ADMINISTRATOR


def test_words_are_those_of_the_configuration() -> None:
    assert [role.word for role in Role] == ["viewer", "operator", "administrator"]
    assert all(ROLES_BY_WORD[role.word] is role for role in Role)
