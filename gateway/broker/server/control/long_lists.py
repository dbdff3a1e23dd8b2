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
    """Select the items of one page from a long list, without blocking the event loop.

    The list is processed in slices of `slice_items` items. For each slice, `first_of` receives the
    items selected so far and the items of the slice. It sorts these items and returns the first of
    them, as many as fit on the page. Between two slices, the event loop can handle other events.
    """
    rest = iter(items)
    found: list[_Item] = []
    while part := list(islice(rest, slice_items)):
        found = first_of(chain(found, part))
        await asyncio.sleep(0)
    return found


def fitting(shown: Iterable[dict[str, Any]], bytes_max: int) -> list[dict[str, Any]]:
    """Return the first objects in `shown`, as many as fit into `bytes_max` bytes of JSON.

    The first object is always returned, even if it is larger.
    """
    found: list[dict[str, Any]] = []
    size_bytes = 0
    for one in shown:
        size_bytes += len(json.dumps(one))
        if found and size_bytes > bytes_max:
            break
        found.append(one)
    return found
