"""A broker with one mistake: functions of it are replaced for as long as a context lasts."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest import mock

from gateway.broker.core.broker import Broker
from gateway.broker.core.output import SealedBatch

_DELAYED: list[Callable[[], None]] = []
"""What still has to be done of what was taken apart."""

Replace = Callable[[Any], object]
"""Makes the wrong function from the right one."""


@dataclass(frozen=True)
class Mutant:
    """A mistake: which functions of which classes or modules become which others."""

    name: str
    patches: tuple[tuple[type | ModuleType, str, Replace], ...]
    scenario: str = ""
    """Whose power cuts show it, where random lives do so too rarely."""
    begin: int = 0
    """The seed, or the moment of the power cut, that is tried first: the one that showed it when
    this was written. All others follow, so that it costs time and nothing else if it is wrong."""

    @contextmanager
    def living(self) -> Iterator[None]:
        """Let the broker be wrong meanwhile."""
        _DELAYED.clear()
        with ExitStack() as stack:
            for target, attribute, replace in self.patches:
                right = target.__dict__[attribute]
                wrong = replace(right)
                stack.enter_context(mock.patch.object(target, attribute, wrong))
            yield


def later(right: Any) -> object:
    """Take apart what has to be one batch: this happens when the rest is committed."""

    def put_off(target: object, *arguments: Any) -> None:
        _DELAYED.append(lambda: right(target, *arguments))

    return put_off


def later_when_committed(right: Any) -> object:
    """Do what was put off."""

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
    """Return a mutant of one function."""
    return Mutant(name, ((target, attribute, replace),), scenario, begin)
