"""The page of users and tokens, for administrators."""

from pathlib import Path

from gateway.broker.access.passwords.file import PasswordFile
from tests.api.acting import site
from tests.api.logging_in import PASSWORD
from tests.api.pages.test_actions import sent


async def test_administrators_see_users_and_tokens_and_how_to_change_them(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.browser("carl") as browser, at.browser("ben") as operator:
        text = (await browser.get("/users")).text
        for shown in ("ben", "operator", "program-viewer", "oncegate passwd"):
            assert shown in text
        assert "/users" in (await browser.get("/system")).text
        assert (await operator.get("/users")).status_code == 403
        assert "/users" not in (await operator.get("/system")).text


async def test_an_administrator_adds_and_removes_a_user_with_forms(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.browser("carl") as browser:
        form = {"user": "dora", "password": "new secret", "again": "new secret"}
        differ = await sent(browser, "/users/password", **form | {"again": "x"}, own_password="x")  # noqa: S106
        assert (differ.status_code, "differ" in differ.text) == (422, True)
        wrong = await sent(browser, "/users/password", **form, own_password="wrong")  # noqa: S106
        assert (wrong.status_code, "your own password is wrong" in wrong.text.lower()) == (
            403,
            True,
        )
        assert "new secret" not in wrong.text
        added = await sent(browser, "/users/password", **form, own_password=PASSWORD)
        assert (added.status_code, added.headers["location"]) == (303, "/users")
        assert PasswordFile.load(tmp_path / "passwords").verify("dora", b"new secret")
        assert "/users/remove?user=dora" in (await browser.get("/users")).text
        asked = await browser.get("/users/remove?user=dora")
        assert 'href="/users">Cancel' in asked.text
        removed = await sent(browser, "/users/remove?user=dora", own_password=PASSWORD)
        assert removed.status_code == 303
        itself = await sent(browser, "/users/remove?user=carl", own_password=PASSWORD)
        assert itself.status_code == 409
        assert "ou cannot remove yourself" in itself.text
        assert "published" not in itself.text
        assert "dora" not in PasswordFile.load(tmp_path / "passwords")
        given = {"user": "dora", "password": "x", "own_password": PASSWORD}
        async with at.program("administrator") as program:
            refused = await program.post("/api/v1/users/password", json=given)
            assert (refused.status_code, "only people" in refused.json()["detail"]) == (403, True)
