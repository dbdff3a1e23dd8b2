"""Topics in the REST interface, at a real broker."""

from pathlib import Path

from tests.api.acting import site

URL = "/api/v1/topics"


async def test_programs_publish_list_page_by_page_and_clear(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.program("operator") as program:
        for number in range(5):
            lamp = {"topic": f"lamp/{number}", "payload": "°", "retain": True}
            done = await program.post(f"{URL}/publish", json=lamp)
            unheard = {"matched": False, "receivers": 0, "denied": 0}
            assert done.json() == {"published": True, **unheard}, done.text
        found: list[str] = []
        after: str | None = ""
        while after is not None:
            page = (await program.get(URL, params={"limit": 2, "after": after})).json()
            found += [each["topic"] for each in page["topics"]]
            after = page["next"]
        assert found == [f"lamp/{number}" for number in range(5)]
        one = await program.get(URL, params={"search": "LAMP/3"})
        (message,) = [each["retained"] for each in one.json()["topics"]]
        assert (message["text"], message["bytes"], message["qos"]) == ("°", 2, 1)
        same = await program.get(
            URL, params={"search": "LAMP/3"}, headers={"If-None-Match": one.headers["etag"]}
        )
        assert same.status_code == 304
        cleared = await program.post(f"{URL}/clear", json={"topic": "lamp/3"})
        assert cleared.json() == {"cleared": True}
        absent = await program.post(f"{URL}/clear", json={"topic": "lamp/3"})
        assert absent.status_code == 404
        assert (await program.get(URL, params={"serch": "x"})).status_code == 422
        wrong = await program.post(f"{URL}/publish", json={"topic": "a", "qos": 0})
        assert wrong.status_code == 422


async def test_viewers_get_no_payloads_and_publish_nothing(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.program("operator") as operator:
        secret = {"topic": "door", "payload": "1234", "retain": True}
        assert (await operator.post(f"{URL}/publish", json=secret)).status_code == 200
        async with at.program("viewer") as viewer:
            (door,) = (await viewer.get(URL)).json()["topics"]
            assert (door["retained"]["text"], door["retained"]["bytes"]) == (None, 4)
            for path in ("publish", "clear"):
                assert (await viewer.post(f"{URL}/{path}", json=secret)).status_code == 403


async def test_rules_that_deny_it_are_named_with_the_fix(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("allow user ben publish own/#\n")
    async with site(tmp_path, access__rules_file=rules) as at, at.browser("ben") as browser:
        denied = await browser.post(f"{URL}/publish", json={"topic": "other"})
        assert denied.status_code == 403
        assert "rules_file" in denied.json()["mend"]
        assert "`allow user ben publish other`" in denied.json()["detail"]
