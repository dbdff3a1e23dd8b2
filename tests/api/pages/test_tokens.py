"""Forms that add and remove tokens of programs."""

import re
from pathlib import Path

import httpx

from tests.api.acting import site
from tests.api.logging_in import PASSWORD
from tests.api.pages.test_actions import sent


async def test_an_administrator_adds_a_token_that_is_shown_once_and_removes_it(
    tmp_path: Path,
) -> None:
    async with site(tmp_path) as at, at.browser("carl") as browser:
        assert 'href="/tokens/add"' in (await browser.get("/users")).text
        form = {"name": "dashboard", "role": "operator"}
        wrong = await sent(browser, "/tokens/add", **form, own_password="wrong")  # noqa: S106
        assert wrong.status_code == 403
        assert "your own password is wrong" in wrong.text.lower()
        odd = await sent(browser, "/tokens/add", **form | {"name": "a b"}, own_password=PASSWORD)
        assert odd.status_code == 422
        added = await sent(browser, "/tokens/add", **form, own_password=PASSWORD)
        assert (added.status_code, added.headers["cache-control"]) == (200, "no-store")
        (token,) = re.findall(r"<code>(ogt_[\w-]{43})</code>", added.text)
        assert token not in (tmp_path / "tokens").read_text()
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=at.url, headers=headers) as program:
            while (await program.get("/api/v1/status")).status_code == 401:
                pass  # the file is read again within a second
            assert token not in (await browser.get("/users")).text
            removed = await sent(browser, "/tokens/remove?name=dashboard", own_password=PASSWORD)
            assert (removed.status_code, removed.headers["location"]) == (303, "/users")
            while (await program.get("/api/v1/status")).status_code == 200:
                pass
        assert "dashboard" not in (await browser.get("/users")).text
        again = await sent(browser, "/tokens/remove?name=dashboard", own_password=PASSWORD)
        assert again.status_code == 404


async def test_tokens_are_for_administrators_who_are_people(tmp_path: Path) -> None:
    given = {"name": "x", "own_password": PASSWORD}
    async with (
        site(tmp_path) as at,
        at.browser("ben") as operator,
        at.browser("carl") as browser,
        at.program("administrator") as program,
    ):
        assert (await operator.get("/tokens/add")).status_code == 403
        assert (await operator.post("/api/v1/tokens/add", json=given)).status_code == 403
        refused = await program.post("/api/v1/tokens/add", json=given)
        assert (refused.status_code, "only people" in refused.json()["detail"]) == (403, True)
        added = await browser.post("/api/v1/tokens/add", json=given)
        assert added.json()["token"].startswith("ogt_")
        assert (await browser.post("/api/v1/tokens/add", json=given)).status_code == 409
        gone = await browser.post("/api/v1/tokens/remove", json=given)
        assert gone.json() == {"removed": True}
