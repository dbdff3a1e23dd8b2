"""Updates of the card by REST: requests, refusals, and the progress in the card's report."""

from pathlib import Path

from tests.api.acting import site
from tests.api.card_site import card_site
from tests.api.logging_in import PASSWORD

SOURCE = "https://example.org/oncegate-0.3.0-arm64.raucb"


async def test_an_administrator_requests_an_update_and_the_way_back(tmp_path: Path) -> None:
    async with card_site(tmp_path) as card, card.at.browser("carl") as browser:
        given = {"source": SOURCE, "own_password": PASSWORD}
        answer = await browser.post("/api/v1/card/update", json=given)
        assert (answer.status_code, answer.json()) == (200, {"requested": True})
        answer = await browser.post("/api/v1/card/back", json={"own_password": PASSWORD})
        assert answer.json() == {"requested": True}
        assert card.asked() == {"install_update": {"source": SOURCE}, "go_back": {}}


async def test_an_address_that_cannot_be_used_is_refused_with_the_fix(tmp_path: Path) -> None:
    async with card_site(tmp_path) as card, card.at.browser("carl") as browser:
        for source in ("http://example.org/a", "--rollback-ends", "https://a/b\nc", "x" * 3000):
            given = {"source": source, "own_password": PASSWORD}
            answer = await browser.post("/api/v1/card/update", json=given)
            assert answer.status_code == 422
            assert answer.headers["content-type"] == "application/problem+json"
        wrong = await browser.post("/api/v1/card/back", json={"own_password": "wrong"})
        assert wrong.status_code == 403
        assert card.asked() == {}


async def test_elsewhere_than_on_the_card_the_answer_names_the_way(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.browser("carl") as browser:
        given = {"source": SOURCE, "own_password": PASSWORD}
        answer = await browser.post("/api/v1/card/update", json=given)
        assert answer.status_code == 404
        assert "SD card" in answer.json()["detail"]
