"""The page as a browser reads it: its words, its elements and their attributes."""

from html.parser import HTMLParser

import httpx

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;{{7*7}}"


class Reader(HTMLParser):
    """The text of a page, and its elements with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


async def read(client: httpx.AsyncClient, path: str = "/", *, status_code: int = 200) -> Reader:
    response = await client.get(path)
    assert response.status_code == status_code
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    return Reader(response.text)


PAGES = ("/", "/sensors", "/clients", "/alarms", "/system")


async def read_all(client: httpx.AsyncClient) -> Reader:
    """Load all pages of the navigation and return them as one."""
    responses = [await client.get(path) for path in PAGES]
    assert {response.status_code for response in responses} == {200}
    return Reader("\n".join(response.text for response in responses))
