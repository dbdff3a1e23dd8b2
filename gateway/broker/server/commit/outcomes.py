"""Defines the callbacks that report the result of committing a batch of records."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Failure = TypeVar("Failure")


@dataclass(frozen=True, kw_only=True)
class Outcomes(Generic[Failure]):
    """Callbacks that report the result of writing a batch of records."""

    released: Callable[[], None]
    """Called when the packets of a durable batch may be sent."""
    written: Callable[[], None] = lambda: None
    """Called when records that no client waits for are written, but not synced."""
    full: Callable[[], None] = lambda: None
    """Called when there is no space for a batch."""
    failed: Callable[[Failure], None]
    """Called when a batch cannot be written for any other reason."""
