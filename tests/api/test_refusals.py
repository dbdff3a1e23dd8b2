"""Lines about strangers: one a minute, with the number of the others."""

from api import limits
from api.refusals import Refusals


def test_one_line_in_each_span_names_how_many_had_none() -> None:
    refusals = Refusals()
    assert refusals.line_of("a login was refused", 0.0) == "a login was refused"
    for _ in range(1_500):
        assert refusals.line_of("a login was refused", 1.0) is None
    later = limits.REFUSALS_LOGGED_SECONDS
    assert refusals.line_of("x", later) == "x (1,500 more since the last such line)"
    assert refusals.line_of("x", 2 * later) == "x"
    assert refusals.count == 1_503
