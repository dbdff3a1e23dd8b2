"""Topics as a tree: each level contains the levels below it.

This module does no I/O.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from api import limits
from api.models.topics import Topic


@dataclass
class Branch:
    """A line of the tree. It shows one topic level, or several levels if they do not branch."""

    label: str
    path: str
    """The topic from the root to this line."""
    topic: Topic | None = None
    """The topic with this path, or None if only topics below it have messages."""
    below: list["Branch"] = field(default_factory=list)


def tree_of(topics: Sequence[Topic], *, below: str = "") -> list[Branch]:
    """Return topics as a tree. `topics` must list each topic before the topics below it.

    If a topic has more than TOPIC_LEVELS_SHOWN levels, the deepest levels share one line, so that
    the tree fits on a phone. If the keyword argument `below` is a topic, this topic becomes the
    root of the tree, and all of its levels share one line.
    """
    root = Branch("", "")
    for each in topics:
        branch = root
        for path, label in _levels_of(each.topic, below):
            if not branch.below or branch.below[-1].path != path:
                branch.below.append(Branch(label, path))
            branch = branch.below[-1]
        branch.topic = each
    return [_joined(each) for each in root.below]


def _levels_of(topic: str, below: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the label of each line from the root to a topic.

    If `below` is the topic or one of its parents, the first line contains all levels of `below`.
    """
    start = 0
    if below and (topic == below or topic.startswith(f"{below}/")):
        yield below, below
        start = len(below) + 1
        if start > len(topic):
            return
    levels = topic[start:].split("/")
    for index, level in enumerate(levels):
        if index == limits.TOPIC_LEVELS_SHOWN:
            yield topic, "/".join(levels[index:])
            return
        end = start + sum(len(each) + 1 for each in levels[: index + 1]) - 1
        yield topic[:end], level


def _joined(branch: Branch) -> Branch:
    """Return a branch in which topic levels that do not branch share one line.

    A branch is merged with its only child if the branch itself has no message.
    """
    while branch.topic is None and len(branch.below) == 1:
        (only,) = branch.below
        branch = Branch(f"{branch.label}/{only.label}", only.path, only.topic, only.below)
    branch.below = [_joined(each) for each in branch.below]
    return branch
