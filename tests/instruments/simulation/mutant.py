"""A broker with one mistake: some of its functions are replaced inside a `with` block."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest import mock

from gateway.broker.core.broker import Broker
from gateway.broker.core.output import SealedBatch

_DELAYED: list[Callable[[], None]] = []
"""Calls that were separated from their batch and must still be made."""

Replace = Callable[[Any], object]
"""Creates the wrong function from the right one."""


@dataclass(frozen=True)
class Mutant:
    """A mistake: the functions of classes or modules that are replaced, and their replacements."""

    name: str
    patches: tuple[tuple[type | ModuleType, str, Replace], ...]
    scenario: str = ""
    """The scenario whose power cuts reveal the mistake, if random runs rarely do."""
    begin: int = 0
    """The seed, or the moment of the power cut, that is tried first, because it revealed the
    mistake before. All others follow, so a wrong value only costs time.
    """

    @contextmanager
    def living(self) -> Iterator[None]:
        """Replace the functions for the duration of the block."""
        _DELAYED.clear()
        with ExitStack() as stack:
            for target, attribute, replace in self.patches:
                right = target.__dict__[attribute]
                wrong = replace(right)
                stack.enter_context(mock.patch.object(target, attribute, wrong))
            yield


def later(right: Any) -> object:
    """Return a function that delays a call until the rest of its batch is committed."""

    def deferred(target: object, *arguments: Any) -> None:
        _DELAYED.append(lambda: right(target, *arguments))

    return deferred


def later_when_committed(right: Any) -> object:
    """Return a function that makes the delayed calls after a commit."""

    def committed(self: Broker, batch: SealedBatch) -> None:
        right(self, batch)
        waiting = _DELAYED.copy()
        _DELAYED.clear()
        for deliver in waiting:
            deliver()

    return committed


def one(
    name: str,
    target: type | ModuleType,
    attribute: str,
    replace: Replace,
    *,
    scenario: str = "",
    begin: int = 0,
) -> Mutant:
    """Return a mutant with one replaced function."""
    return Mutant(name, ((target, attribute, replace),), scenario, begin)
