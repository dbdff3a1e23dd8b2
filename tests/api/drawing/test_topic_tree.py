"""Topics arranged as a tree."""

import pytest

from api.drawing.topic_tree import Branch, tree_of
from api.models.topics import Topic


def shape_of(branches: list[Branch]) -> list[object]:
    """Return the labels of branches, each followed by the list of its own branches.

    A star marks a topic with a message.
    """
    return [
        part
        for each in branches
        for part in (f"{each.label}{'*' if each.topic else ''}", shape_of(each.below))
        if part != []
    ]


@pytest.mark.parametrize(
    ("topics", "below", "expected"),
    [
        ([], "", []),
        (["a"], "", ["a*"]),
        (["a", "a/b", "a/c/d", "b"], "", ["a*", ["b*", "c/d*"], "b*"]),
        (["a/b/c", "a/b/d"], "", ["a/b", ["c*", "d*"]]),
        (["", "/", "//", "/a"], "", ["*", ["*", ["*"], "a*"]]),
        (["a/b", "a/b/c", "a/b/d"], "a/b", ["a/b*", ["c*", "d*"]]),
        (["1/2/3/4/5/6/7/8"], "", ["1/2/3/4/5/6/7/8*"]),
        (["1", "1/2/3/4/5/6/7/8", "1/2/3/4/5/6/9"], "", ["1*", ["2/3/4/5/6", ["7/8*", "9*"]]]),
    ],
)
def test_levels_without_a_choice_share_a_line_and_so_do_the_deepest(
    topics: list[str], below: str, expected: list[object]
) -> None:
    listed = [Topic(topic=each, retained=None, latest=None) for each in topics]
    assert shape_of(tree_of(listed, below=below)) == expected


def test_every_branch_has_its_topic_as_path() -> None:
    (house,) = tree_of([Topic(topic=each, retained=None, latest=None) for each in ("h/a/x", "h/b")])
    assert (house.path, [each.path for each in house.below]) == ("h", ["h/a/x", "h/b"])
