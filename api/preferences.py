"""Preferences of a client in the headers Accept and Accept-Encoding. Source: RFC 9110, 12.4.2."""

import re
from typing import Final, NamedTuple

_OTHER_OPENMETRICS: Final = re.compile(
    r"^\s*application/openmetrics-text\s*;.*version=(?!\"?1\.0\b)", re.IGNORECASE
)


class Preference(NamedTuple):
    """A client's preference for one of several values. The largest preference wins."""

    quality: float
    """From 0 (refused) to 1."""
    precision: int
    """0 if the value matches no range of the header or only `*`, 1 for `text/*`, 2 for itself."""
    place: int
    """0 for the first range of the header, -1 for the second range, and so on."""


def preference_for(value: str, header: str) -> Preference:
    """Return a client's preference for a media type or an encoding, such as ``text/csv``.

    `header` is the content of Accept or Accept-Encoding. Ranges that cannot be read are ignored.
    """
    matching = {"*": 0, "*/*": 0, f"{value.partition('/')[0]}/*": 1, value: 2}
    best = Preference(0.0, -1, 0)  # less precise than any match
    for place, each in enumerate(header.lower().split(",")):
        name, *parameters = (part.strip() for part in each.split(";"))
        precision = matching.get(name, -1)
        if precision > best.precision:
            best = Preference(_quality_in(parameters), precision, -place)
    return best if best.quality else Preference(0.0, 0, 0)


def prefers_page(accept: str) -> bool:
    """Return True if a client prefers a page to JSON. `accept` is the content of Accept.

    A client that accepts everything is a program: a browser names text/html.
    """
    programs = ("application/problem+json", "application/json")
    return preference_for("text/html", accept) > max(
        preference_for(each, accept) for each in programs
    )


def prefers_openmetrics(accept: str) -> bool:
    """Return True if a scraper prefers OpenMetrics 1.0 to the text format of Prometheus.

    Ranges for other versions of OpenMetrics are ignored, as they are not served.
    """
    usable = ",".join(each for each in accept.split(",") if not _OTHER_OPENMETRICS.search(each))
    return preference_for("application/openmetrics-text", usable) > preference_for(
        "text/plain", usable
    )


def _quality_in(parameters: list[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                quality = float(parameter.removeprefix("q="))
            except ValueError:
                return 0.0
            return quality if 0 <= quality <= 1 else 0.0  # also refuses NaN
    return 1.0
