"""The plot of a run is well-formed, and its lines stay inside their panels."""

from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.tools.bench.latency import CURVE_QUANTILES
from gateway.tools.bench.plot import GAP, LEFT, PANEL_HEIGHT, PANEL_WIDTH, TOP, svg_of
from tests.tools.bench.results import reading, result

SVG = "{http://www.w3.org/2000/svg}"


def drawn(title: str = "a run", **measured: Any) -> ElementTree.Element:
    text = svg_of(result(reading(0.0, 0), reading(1.0, 1), **measured), title)
    return ElementTree.fromstring(text)  # noqa: S314 - our own


def texts_of(picture: ElementTree.Element) -> list[str | None]:
    return [each.text for each in picture.iter(f"{SVG}text")]


def lines_of(picture: ElementTree.Element) -> list[list[tuple[float, float]]]:
    return [
        [(float(x), float(y)) for x, _, y in (pair.partition(",") for pair in points.split())]
        for points in (each.attrib["points"] for each in picture.iter(f"{SVG}polyline"))
    ]


latencies = st.lists(st.floats(0.0, 1e6), min_size=41, max_size=41).map(
    lambda values: list(zip(CURVE_QUANTILES, sorted(values), strict=True))
)


@given(
    rates=st.lists(st.floats(0.0, 1e9), max_size=20),
    delivery=st.just([]) | latencies,
    acknowledgement=st.just([]) | latencies,
)
def test_every_point_of_every_line_is_inside_its_panel(
    rates: list[float],
    delivery: list[tuple[float, float]],
    acknowledgement: list[tuple[float, float]],
) -> None:
    picture = drawn(
        timeline=[(0.5 * (index + 1), rate) for index, rate in enumerate(rates)],
        delivery_curve_ms=delivery,
        acknowledgement_curve_ms=acknowledgement,
    )
    throughput, *curves = lines_of(picture)
    assert len(throughput) == len(rates)
    assert len(curves) == bool(delivery) + bool(acknowledgement)
    for left, line in [(LEFT, throughput), *((LEFT + PANEL_WIDTH + GAP, each) for each in curves)]:
        for x, y in line:
            assert left - 0.1 <= x <= left + PANEL_WIDTH + 0.1
            assert TOP - 0.1 <= y <= TOP + PANEL_HEIGHT + 0.1


def test_axes_have_round_labels_that_hold_the_largest_value() -> None:
    texts = texts_of(drawn(timeline=[(1.0, 1_500.0), (2.0, 3_000.0)]))
    for label in ("0", "1k", "2k", "3k", "4k", "0 s", "1 s", "2 s", "p99.99"):
        assert label in texts


@pytest.mark.parametrize("title", ["<script>", 'a & b "c"'])
def test_a_title_is_text_whatever_it_holds(title: str) -> None:
    assert title in texts_of(drawn(title))
