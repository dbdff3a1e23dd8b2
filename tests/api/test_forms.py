"""Paths to which a form may redirect, and the comparison of secrets. See also `test_login`."""

import pytest

from api.forms import is_same_secret, local_path_of


@pytest.mark.parametrize("path", ["/", "/docs", "/session?client_id=a%20b&x=/y", "/#sessions"])
def test_a_path_of_this_page_is_kept(path: str) -> None:
    assert local_path_of(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "x",
        "//x",
        "/\\x",
        "\\x",
        "http://x",
        "/x\\y",
        "/x y",
        "/\tx",
        "/\n",
        "/ä",
        "/" + "x" * 2048,
    ],
)
def test_everything_else_is_the_first_page(path: str) -> None:
    assert local_path_of(path) == "/"


def test_what_is_not_there_is_like_nothing() -> None:
    assert is_same_secret("a", "a")
    for one, other in ((None, None), ("", ""), ("a", None), (None, "a"), ("a", "b"), ("a", "ä")):
        assert not is_same_secret(one, other)
