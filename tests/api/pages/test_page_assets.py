"""The files that the page loads, which everyone may read."""

import re

import httpx
import pytest

from api.pages.page import ASSETS
from tests.api.contract_broker import ContractBroker
from tests.api.page_reader import PAGES, read


async def test_the_page_needs_nothing_from_elsewhere_and_is_spoken_well(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    for path in (*PAGES, "/sensors/gps", "/docs", "/session?client_id=phone"):
        page = await read(client, path)
        for tag, found in page.elements:
            for name in ("href", "src", "action"):
                address = found.get(name) or "/"
                assert address.startswith(("/", "#")), (tag, address)
                assert not address.startswith("//")
            assert "style" not in found
        tags = [tag for tag, _ in page.elements]
        assert ("html", {"lang": "en"}) in page.elements
        assert tags.count("h1") == 1
        assert tags.count("main") == 1
        ids = [found["id"] for _, found in page.elements if "id" in found]
        assert len(ids) == len(set(ids))
        referred = {
            found["aria-labelledby"] for _, found in page.elements if "aria-labelledby" in found
        }
        assert referred <= set(ids)


async def test_assets_are_kept_permanently_under_an_address_that_changes_with_them(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    page = await read(client)
    addresses = [
        address
        for _, found in page.elements
        for address in (found.get("href"), found.get("src"))
        if address and address.startswith("/assets/")
    ]
    assert len(addresses) == len(ASSETS)
    for address in addresses:
        response = await client.get(address)
        assert response.status_code == 200
        assert response.headers["cache-control"].endswith("immutable")
        again = await client.get(address, headers={"If-None-Match": response.headers["etag"]})
        assert again.status_code == 304
        assert again.content == b""
    other = await client.get("/assets/page.css?v=other")
    assert other.headers["cache-control"] == "no-cache"


async def test_nothing_but_the_assets_is_served_from_the_disk(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    for name in ("nothing.css", "..%2Fmain.py", "%2e%2e%2fmain.py", "page.css%00"):
        assert (await client.get(f"/assets/{name}")).status_code == 404


def luminance_of(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[index : index + 2], 16) / 255 for index in (0, 2, 4)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_pair_of_text_and_ground_has_the_contrast_of_wcag_aa(scheme: int) -> None:
    style = ASSETS["page.css"].body.decode()
    block = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[scheme]
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6});", block))
    pairs = [(text, ground) for text in ("ink", "quiet", "accent") for ground in ("ground", "card")]
    pairs += [("bar-ink", "bar"), ("bar-quiet", "bar"), ("ink", "accent-ground")]
    pairs += [(kind, f"{kind}-ground") for kind in ("good", "attention", "bad")]
    pairs += [("attention", "card"), ("attention", "ground")]
    for text, ground in pairs:
        light, dark = sorted(map(luminance_of, (colours[text], colours[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, ground)
