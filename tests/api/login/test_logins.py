"""The table of logins, limited in number and time."""

from api import limits
from api.login.logins import Logins, Proof
from api.login.roles import Role

PROOF = Proof("anna", "192.0.2.7:40000", "jwt", "1")


def begun(logins: Logins, username: str, now: float) -> str:
    return logins.begin(username, Role.VIEWER, PROOF, now)[0]


def test_a_login_is_found_by_its_secret_and_by_nothing_else() -> None:
    logins = Logins()
    secret = begun(logins, "anna", 0.0)
    login = logins.find(secret, 1.0)
    assert login is not None
    assert (login.username, login.role) == ("anna", Role.VIEWER)
    for other in ("", secret[:-1], secret + "x", "\ud800", secret.swapcase()):
        assert logins.find(other, 1.0) is None
    logins.end(secret)
    assert logins.find(secret, 1.0) is None
    logins.end(secret)


def test_a_login_that_is_not_used_ends_and_a_used_one_ends_as_well() -> None:
    logins = Logins()
    idle, used = begun(logins, "anna", 0.0), begun(logins, "anna", 0.0)
    step = limits.LOGIN_IDLE_SECONDS_MAX
    assert logins.find(idle, step + 1) is None
    now = 0.0
    while now + step <= limits.LOGIN_SECONDS_MAX:
        now += step
        assert logins.find(used, now) is not None
    assert logins.find(used, limits.LOGIN_SECONDS_MAX + 1) is None
    assert len(logins) == 0


def test_a_user_beyond_the_share_loses_the_login_that_was_used_longest_ago() -> None:
    logins = Logins()
    other = begun(logins, "ben", 0.0)
    own = [begun(logins, "anna", 1.0) for _ in range(limits.LOGINS_PER_USER_MAX)]
    logins.find(own[0], 2.0)
    begun(logins, "anna", 3.0)
    assert [logins.find(each, 4.0) is not None for each in own[:3]] == [True, False, True]
    assert logins.find(other, 4.0) is not None


def test_all_logins_are_bounded() -> None:
    logins = Logins()
    first = begun(logins, "first", 0.0)
    for index in range(limits.LOGINS_MAX):
        begun(logins, f"user{index}", 1.0)
    assert len(logins) == limits.LOGINS_MAX
    assert logins.find(first, 2.0) is None


def test_logins_that_are_over_make_room_before_others_do() -> None:
    logins = Logins()
    for index in range(limits.LOGINS_MAX):
        begun(logins, f"user{index}", 0.0)
    begun(logins, "late", limits.LOGIN_IDLE_SECONDS_MAX + 1)
    assert len(logins) == 1


def test_a_user_s_logins_end_together() -> None:
    logins = Logins()
    anna, ben = [begun(logins, "anna", 0.0) for _ in range(3)], begun(logins, "ben", 0.0)
    logins.end_user("anna")
    assert [logins.find(each, 1.0) for each in anna] == [None] * 3
    assert logins.find(ben, 1.0) is not None


def test_what_a_browser_shows_is_not_kept() -> None:
    logins = Logins()
    secret, login = logins.begin("anna", Role.VIEWER, PROOF, 0.0)
    assert secret not in repr(vars(logins)) + repr(login)
    assert len(secret) == len(login.form_token) == 43
    assert secret != login.form_token


def test_a_login_ends_with_what_proved_it() -> None:
    logins = Logins()
    secret, _ = logins.begin("anna", Role.VIEWER, PROOF, 0.0, seconds=60.0)
    assert logins.find(secret, 60.0) is not None
    assert logins.find(secret, 60.1) is None
