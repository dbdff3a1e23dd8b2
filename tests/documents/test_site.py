"""The website of the documents is built without a warning and loads nothing from a network."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from docs.conf import PAGE, include_patterns, navigation_of

ROOT = Path(__file__).resolve().parents[2]
INDEX = ROOT / "docs" / "index.md"
# Elements whose target a browser loads by itself, and the attribute with the address.
LOADED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}
STYLE_ADDRESS = re.compile(r"""(?:url\(|@import )\s*["']?(?!data:|#)([^"')\s]+)""")


class Addresses(HTMLParser):
    """Addresses that a browser loads, addresses that a reader follows, and the ids of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.followed: list[str] = []
        self.identifiers: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if "id" in values:
            self.identifiers.add(values["id"])
        address = values.get(LOADED.get(tag, ""))
        if address:
            self.loaded.append(address)
        elif tag == "a" and "href" in values:
            self.followed.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    outcome = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", ".", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert outcome.returncode == 0, outcome.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Addresses]:
    return {path: Addresses(path.read_text()) for path in sorted(site.rglob("*.html"))}


def dead_links_of(path: Path, addresses: Addresses, pages: dict[Path, Addresses]) -> Iterator[str]:
    for address in addresses.followed + addresses.loaded:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        place = unquote(parts.fragment)
        if not target.is_file():
            yield f"{path.name}: {address}"
        elif place and target in pages and place not in pages[target].identifiers:
            yield f"{path.name}: {address}: no such place"


@pytest.mark.slow
def test_every_link_of_the_site_leads_to_a_page_or_a_place_in_it(
    pages: dict[Path, Addresses],
) -> None:
    assert len(pages) > 200
    found = [link for path, each in pages.items() for link in dead_links_of(path, each, pages)]
    assert found == []


@pytest.mark.slow
def test_no_page_of_the_site_loads_anything_from_a_network(
    site: Path, pages: dict[Path, Addresses]
) -> None:
    loaded = [address for each in pages.values() for address in each.loaded]
    styles = [style for path in site.rglob("*.css") for style in addresses_in(path.read_text())]
    assert len(loaded) > 1000
    assert [address for address in loaded + styles if urlsplit(address).netloc] == []


def addresses_in(style: str) -> list[str]:
    return STYLE_ADDRESS.findall(style)


def test_an_address_in_a_style_is_found() -> None:
    style = '@import "https://a.example/x.css"; b { src: url(//c.example/f.woff2) } i { x: url(d) }'
    assert [urlsplit(each).netloc for each in addresses_in(style)] == ["a.example", "c.example", ""]


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<a href='#here'>1</a><a href='#no'>2</a><a href='no.html'>3</a><p id=here>")
    pages = {page: Addresses(page.read_text())}
    assert list(dead_links_of(page, pages[page], pages)) == [
        "page.html: #no: no such place",
        "page.html: no.html",
    ]


def test_every_page_has_one_line_in_the_navigation() -> None:
    listed = [page for _, page in PAGE.findall(INDEX.read_text().split("\n## ", 1)[1])]
    assert sorted(set(listed)) == sorted(listed), "a page in two groups of docs/index.md"
    targets = {(INDEX.parent / f"{name}.md").resolve() for name in listed}
    named = [pattern.replace("**", "**/*") for pattern in include_patterns]
    pages = {path for pattern in named for path in ROOT.glob(pattern)}
    decisions = ROOT / "docs" / "decisions"
    wanted = {path for path in pages if path.parent != decisions or path.name == "README.md"}
    assert sorted(wanted - targets - {INDEX}) == [], "add a line to docs/index.md"


def test_the_navigation_has_the_groups_of_the_index() -> None:
    captions = re.findall(r":caption: (.+)", navigation_of(INDEX.read_text()))
    assert captions == [
        "Start",
        "Tutorials",
        "How to",
        "Troubleshooting",
        "Reference",
        "Explanation",
    ]
