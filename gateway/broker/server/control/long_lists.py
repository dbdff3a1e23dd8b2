"""Divides long lists into pages that fit into an answer, without blocking the event loop."""

import asyncio
import json
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Any, TypeVar

_Item = TypeVar("_Item")


async def first_in_slices(
    items: Iterable[_Item], first_of: Callable[[Iterable[_Item]], list[_Item]], slice_items: int
) -> list[_Item]:
    """Select the items of a page from `items`, without blocking the event loop.

    `first_of` sorts the items that it receives, and returns only as many of the first ones as the
    page needs. Each call gets the result of the previous call and up to `slice_items` further
    items. Between two calls, the event loop can handle other events.
    """
    rest = iter(items)
    found: list[_Item] = []
    while part := list(islice(rest, slice_items)):
        found = first_of(chain(found, part))
        await asyncio.sleep(0)
    return found


def fitting(shown: Iterable[dict[str, Any]], bytes_max: int) -> list[dict[str, Any]]:
    """Return the first objects in `shown`, up to `bytes_max` bytes of JSON, but at least one."""
    found: list[dict[str, Any]] = []
    size_bytes = 0
    for one in shown:
        size_bytes += len(json.dumps(one))
        if found and size_bytes > bytes_max:
            break
        found.append(one)
    return found
