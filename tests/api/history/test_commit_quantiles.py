"""Quantiles of a histogram."""

import pytest

from api.history.commit_quantiles import quantile_of

BOUNDS = (1.0, 2.0, 4.0)


@pytest.mark.parametrize(
    ("counts", "share", "expected"),
    [
        ((0, 0, 0, 0), 0.5, None),
        ((10, 0, 0, 0), 0.5, 0.5),
        ((0, 10, 0, 0), 0.5, 1.5),
        ((50, 0, 50, 0), 0.99, 3.96),
        ((0, 0, 0, 1), 0.5, 6.0),
        ((1, 1), 0.5, None),
    ],
)
def test_a_quantile_is_within_its_class(
    counts: tuple[int, ...], share: float, expected: float | None
) -> None:
    assert quantile_of(BOUNDS, counts, share) == pytest.approx(expected)
