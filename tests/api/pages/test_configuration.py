"""The configuration in force, on the page and in the REST interface."""

from pathlib import Path

from tests.api.acting import site


async def test_each_key_is_shown_with_its_value_and_where_it_was_set(tmp_path: Path) -> None:
    async with site(tmp_path, mqtt__max_inflight=7) as at, at.browser("anna") as browser:
        text = (await browser.get("/configuration?show=all")).text
        assert "max_inflight" in text
        assert "the command line" in text
        assert "max_retained" in text
        only_set = (await browser.get("/configuration")).text
        assert "max_inflight" in only_set
        assert "max_retained" not in only_set
        found = (await browser.get("/api/v1/configuration")).json()
        keys = {(each["section"], each["key"]): each for each in found["keys"]}
        assert keys["[mqtt]", "max_inflight"]["value"] == "7"
        assert keys["[mqtt]", "max_retained"]["source"] is None
        password_file = keys["[access]", "password_file"]
        assert password_file["value"] == '"(set, not shown)"'
        assert str(tmp_path / "passwords") not in (text + str(found))


async def test_without_a_login_it_is_not_shown(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.browser("anna") as browser:
        browser.cookies.clear()
        assert (await browser.get("/api/v1/configuration")).status_code == 401
        assert (await browser.get("/configuration")).status_code == 303
