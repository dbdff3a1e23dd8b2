"""The page of users and tokens, for administrators."""

from pathlib import Path

from tests.api.acting import site


async def test_administrators_see_users_and_tokens_and_how_to_change_them(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.browser("carl") as browser, at.browser("ben") as operator:
        text = (await browser.get("/users")).text
        for shown in ("ben", "operator", "program-viewer", "oncegate passwd"):
            assert shown in text
        assert "/users" in (await browser.get("/system")).text
        assert (await operator.get("/users")).status_code == 403
        assert "/users" not in (await operator.get("/system")).text
