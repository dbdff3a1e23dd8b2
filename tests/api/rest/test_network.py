"""Name and network by REST: what is shown, requests, and refusals with the fix."""

from pathlib import Path

from tests.api.acting import site
from tests.api.card_site import SETTINGS, card_site
from tests.api.logging_in import PASSWORD

JOIN = {"wifi": "join", "wifi_ssid": "Shed", "wifi_password": "battery horse"}
FIXED = {"ethernet": "fixed", "ethernet_address": "192.0.2.20/24"}


async def test_administrators_see_name_network_and_the_last_change(tmp_path: Path) -> None:
    async with card_site(tmp_path) as card, card.at.program("administrator") as program:
        shown = (await program.get("/api/v1/network")).json()
        assert shown["wifi"] == SETTINGS["wifi"]
        assert shown["ethernet"] == SETTINGS["ethernet"]
        assert (shown["change"], bool(shown["hostname"])) == (None, True)
        card.report(change={"state": "trial", "sentence": "On trial", "until_s": 1e9})
        change = (await program.get("/api/v1/network")).json()["change"]
        assert (change["state"], change["seconds_left"] > 0) == ("trial", True)
        async with card.at.program("operator") as operator:
            assert (await operator.get("/api/v1/network")).status_code == 403
        assert "ssid" not in (await program.get("/api/v1/card")).text


async def test_a_change_is_requested_kept_and_undone(tmp_path: Path) -> None:
    async with card_site(tmp_path) as card, card.at.browser("carl") as browser:
        given = {**JOIN, "hostname": "shed-2", "own_password": PASSWORD}
        answer = await browser.post("/api/v1/network/change", json=given)
        assert (answer.status_code, answer.json()) == (200, {"requested": True})
        asked = card.asked()["change_network"]
        assert asked.pop("wifi_password") == "battery horse"
        assert asked == {
            "hostname": "shed-2", "wifi": "join", "wifi_ssid": "Shed", "ethernet": "keep",
        }  # fmt: skip
        for verb in ("keep", "undo"):
            answer = await browser.post(f"/api/v1/network/{verb}", json={})
            assert answer.json() == {"requested": True}
        assert card.asked() == {"keep_network": {}, "undo_network": {}}
        async with card.at.program("administrator") as program:
            refused = await program.post("/api/v1/network/change", json=given)
            assert (refused.status_code, "only people" in refused.json()["detail"]) == (403, True)


async def test_a_fixed_address_is_requested_for_one_adapter_or_for_all(tmp_path: Path) -> None:
    async with card_site(tmp_path) as card, card.at.browser("carl") as browser:
        for named in ({"ethernet_interface": "end0"}, {}):
            given = {**FIXED, **named, "own_password": PASSWORD}
            answer = await browser.post("/api/v1/network/change", json=given)
            assert answer.json() == {"requested": True}
            assert card.asked()["change_network"] == {"wifi": "keep", **FIXED, **named}


async def test_what_cannot_be_used_is_refused_with_the_fix_and_without_the_secret(
    tmp_path: Path,
) -> None:
    async with card_site(tmp_path) as card, card.at.browser("carl") as browser:
        for change, status in (
            ({"hostname": "a\nb"}, 422),
            ({"hostname": "--help"}, 422),
            ({"hostname": "a" * 1000}, 422),
            ({**JOIN, "wifi_ssid": 'x"\n}\nnetwork={'}, 422),
            ({**JOIN, "wifi_password": "battery\nhorse"}, 422),
            ({"ethernet": "fixed", "ethernet_address": "192.0.2.1"}, 422),
            ({**FIXED, "ethernet_interface": "eth*"}, 422),
            ({**FIXED, "ethernet_interface": "a" * 16}, 422),
            ({**FIXED, "ethernet_interface": 0}, 422),
            ({"ethernet": "fixed", "ethernet_dns": ["x"] * 100}, 422),
            ({"wifi": "--join"}, 422),
            ({"unknown": 1}, 422),
            ({}, 422),
            ({"hostname": "a", "own_password": "wrong"}, 403),
        ):
            given = {"own_password": PASSWORD, **change}
            answer = await browser.post("/api/v1/network/change", json=given)
            assert answer.status_code == status, change
            assert answer.headers["content-type"] == "application/problem+json"
            assert "battery" not in answer.text
        assert answer.json()["mend"] == "Enter the password with which you log in."
        assert card.asked() == {}


async def test_elsewhere_than_on_the_card_the_answer_names_the_way(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.browser("carl") as browser:
        given = {"hostname": "a", "own_password": PASSWORD}
        for answer in (
            await browser.get("/api/v1/network"),
            await browser.post("/api/v1/network/change", json=given),
        ):
            assert answer.status_code == 404
            assert "hostnamectl" in answer.json()["mend"]
