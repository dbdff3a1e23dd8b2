"""The order of roles, and their names."""

from api.login.roles import ROLES_BY_WORD, Role, Roles


def test_each_role_may_do_what_those_before_it_may() -> None:
    assert Role.VIEWER < Role.OPERATOR < Role.ADMINISTRATOR


def test_words_are_those_of_the_configuration() -> None:
    assert [role.word for role in Role] == ["viewer", "operator", "administrator"]
    assert all(ROLES_BY_WORD[role.word] is role for role in Role)


def test_the_highest_role_of_name_and_groups_counts_and_without_one_there_is_none() -> None:
    roles = Roles(
        users={"anna": Role.OPERATOR},
        groups={"house": Role.VIEWER, "admins": Role.ADMINISTRATOR},
    )
    assert roles.of("anna", ()) is Role.OPERATOR
    assert roles.of("anna", ["house"]) is Role.OPERATOR
    assert roles.of("anna", ["house", "admins"]) is Role.ADMINISTRATOR
    assert roles.of("ben", ["other", "house"]) is Role.VIEWER
    assert roles.of("house", ["anna"]) is None
    assert roles
    assert not Roles()
