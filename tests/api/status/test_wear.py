"""The number of bytes written to a card, and the estimate of the card's life."""

import pytest

from api.status.wear import AMPLIFICATION, ERASURES, wear_of, years_of


def test_no_figure_for_a_day_is_made_before_an_hour_is_over() -> None:
    early = wear_of(sectors_written=20_000, sectors=31_250_000, up_seconds=3599)
    assert (early.bytes_a_day, early.life_years) == (None, None)
    assert early.written_bytes == 20_000 * 512


def test_a_life_is_estimated_from_what_its_assumption_states() -> None:
    # 10 kB/s for ten days, on a card of 16 GB.
    up_seconds = 864_000.0
    sectors = int(10_000 * up_seconds / 512)
    wear = wear_of(sectors_written=sectors, sectors=31_250_000, up_seconds=up_seconds)
    assert wear.bytes_a_day == pytest.approx(864_000_000, rel=1e-4)
    assert wear.life_years == pytest.approx(
        16e9 * ERASURES / AMPLIFICATION / 864e6 / 365.25, rel=1e-3
    )
    for said in ("An estimate, not a promise", f"{ERASURES} times", f"{AMPLIFICATION} bytes"):
        assert said in wear.assumption


def test_a_card_that_nothing_is_written_to_has_no_estimate() -> None:
    assert wear_of(sectors_written=0, sectors=8, up_seconds=7200).life_years is None


@pytest.mark.parametrize(
    ("years", "words"),
    [
        (0.01, "less than a month"),
        (0.1, "about 1 month"),
        (1.5, "about 18 months"),
        (7.4, "about 7 years"),
        (400.0, "more than 30 years"),
    ],
)
def test_an_estimate_is_no_more_exact_than_it_is(years: float, words: str) -> None:
    assert years_of(years) == words
