"""A site whose gateway runs from an SD card: the card's report, and the directory of requests."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.api import recorded
from tests.api.acting import Site, site

SETTINGS = {
    "hostname": "cabinet-7",
    "wifi": {"ssid": "Müller's <b>", "country": "DE", "hidden": False},
    "ethernet": {
        "address": "192.0.2.10/24", "gateway": "192.0.2.1", "dns": ["192.0.2.1"],
        "interface": "end0",
    },
    "change": None,
}  # fmt: skip


class CardSite:
    """A site, and what the card's system writes and reads there."""

    def __init__(self, at: Site, directory: Path) -> None:
        self.at = at
        self.directory = directory
        self.requests: Path = at.broker.read().gateway.control_socket.parent / "card-requests"
        self.requests.mkdir()

    def report(self, **network: Any) -> None:
        """Write the card's report with these settings of the network."""
        facts = {**recorded.card(), "network": {**SETTINGS, **network}}
        (self.directory / "card.json").write_text(json.dumps(facts))

    def report_card(self, **facts: Any) -> None:
        """Write the card's report with these facts."""
        (self.directory / "card.json").write_text(json.dumps({**recorded.card(), **facts}))

    def asked(self) -> dict[str, Any]:
        """Take the requests of the broker, by name, as the card's system does."""
        found = {}
        for file in self.requests.iterdir():
            found[file.name] = json.loads(file.read_text())
            file.unlink()
        return found


@asynccontextmanager
async def card_site(directory: Path) -> AsyncIterator[CardSite]:
    """Run a broker and its page on an SD card."""
    async with site(directory) as at:
        made = CardSite(at, directory)
        made.report()
        yield made
