"""Country codes, and the names that people write in place of a code."""

import pytest

from gateway.process.countries import COUNTRIES, MEANT, country_meant_by


def test_there_are_as_many_countries_as_iso_3166_has() -> None:
    assert len(COUNTRIES) == 249
    assert not COUNTRIES & MEANT.keys()
    assert {*MEANT.values()} <= COUNTRIES


@pytest.mark.parametrize(
    ("written", "country"),
    [
        ("DE", "DE"),
        ("de", "DE"),
        (" gb ", "GB"),
        ("UK", "GB"),
        ("uk", "GB"),
        ("XX", None),
        ("", None),
    ],
)
def test_a_country_is_recognised_by_its_code(written: str, country: str | None) -> None:
    assert country_meant_by(written) == country
