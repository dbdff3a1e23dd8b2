"""Loads queued messages from disk for the broker core, a few pages per tick."""

import asyncio

from gateway.broker.core.broker import Broker
from gateway.broker.core.effects import PageRequest
from gateway.broker.store.pages import PAGE_BYTES_MAX
from gateway.broker.store.store import Store

PAGES_PER_TICK_MAX = 16
"""Maximum number of pages of queued messages loaded per tick, which takes some milliseconds."""


class Pages:
    """The pages of queued messages that the broker core has requested but not yet received."""

    def __init__(self, broker: Broker, store: Store) -> None:
        self._broker = broker
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._requests: list[PageRequest] = []

    def are_wanted(self) -> bool:
        """Return True if a page of queued messages has been requested but not yet loaded."""
        return bool(self._requests or self._broker.effects.pages)

    def load(self) -> None:
        """Load the pages that were requested first, up to PAGES_PER_TICK_MAX."""
        broker = self._broker
        self._requests.extend(broker.effects.take_pages())
        for request in self._requests[:PAGES_PER_TICK_MAX]:
            contents, deliveries, request.count = self._store.load_page(
                request.session,
                request.first_position,
                request.count,
                request.contents,
                PAGE_BYTES_MAX,
            )
            broker.page_loaded(request, contents, deliveries, self._loop.time())
        del self._requests[:PAGES_PER_TICK_MAX]
