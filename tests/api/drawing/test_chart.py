"""Charts drawn as SVG paths and labels."""

import math
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.drawing.chart import HEIGHT, WIDTH, Chart, chart_of
from api.history.history import Curve
from api.history.points import Point
from api.history.rings import DAY, HOUR, MONTH, Ring

NOW_MS = 1_795_252_443_000
END = NOW_MS // HOUR.step_ms


def curve_of(points: list[Point], *, unit: str = "Cel", ring: Ring = HOUR) -> Curve:
    return Curve("sensors/board/temperature", unit, ring, points)


def chart(points: list[Point], *, unit: str = "Cel", ring: Ring = HOUR) -> Chart:
    found = chart_of(curve_of(points, unit=unit, ring=ring), "temperature", now_ms=NOW_MS)
    assert found is not None
    return found


def flat(step: int, value: float) -> Point:
    return Point(step, value, value, value, value)


def places_of(path: str) -> list[tuple[str, int, int]]:
    return [(kind, int(x), int(y)) for kind, x, y in re.findall(r"([ML])(-?\d+) (-?\d+)", path)]


def test_a_rising_curve_goes_from_the_lower_left_to_the_upper_right() -> None:
    drawn = chart([flat(END - 719 + number, 20 + number / 100) for number in range(720)])
    places = places_of(drawn.line)
    assert places[0][0] == "M"
    assert {kind for kind, _, _ in places[1:]} == {"L"}
    assert places[0][1] < 10
    assert places[-1][1] > WIDTH - 10
    assert all(a[1] <= b[1] and a[2] >= b[2] for a, b in pairwise(places))
    assert drawn.y_labels == ("28 °C", "26 °C", "24 °C", "22 °C", "20 °C")
    assert drawn.x_labels == ("60 min ago", "45 min", "30 min", "15 min", "now")
    assert drawn.label == "temperature in the last hour: 20 to 27.19 °C, latest 27.19 °C"
    assert 10 <= len(drawn.rows) <= 12


def test_a_gap_in_the_readings_is_a_gap_in_the_curve() -> None:
    steps = [*range(END - 600, END - 400), *range(END - 200, END)]
    places = places_of(chart([flat(step, step % 7) for step in steps]).line)
    begins = [x for kind, x, _ in places if kind == "M"]
    assert len(begins) == 2
    assert begins[1] - begins[0] > WIDTH / 3


def test_a_sensor_that_reports_each_minute_has_one_line() -> None:
    places = places_of(chart([flat(step, step % 5) for step in range(END - 708, END, 12)]).line)
    assert [kind for kind, _, _ in places].count("M") == 1


def test_an_hour_that_begins_with_minutes_is_one_line() -> None:
    steps = [*range(END - 600, END - 300, 12), *range(END - 300, END)]
    places = places_of(chart([flat(step, step % 5) for step in steps]).line)
    assert [kind for kind, _, _ in places].count("M") == 1


def test_one_reading_alone_is_a_dot() -> None:
    assert chart([flat(END, 21.5)]).line.endswith("h0")


def test_lowest_and_highest_values_are_a_band_around_the_mean() -> None:
    drawn = chart([Point(END - step, 10.0, 20.0, 30.0, 20.0) for step in range(100, 0, -1)])
    assert drawn.band.startswith("M")
    assert drawn.band.endswith("Z")
    heights = {y for _, _, y in places_of(drawn.band)}
    middle = {y for _, _, y in places_of(drawn.line)}
    assert min(heights) < min(middle)
    assert max(heights) > max(middle)


@pytest.mark.parametrize("value", [0.0, 21.5, -40.0, 1e12, 1e-9])
def test_a_constant_has_a_line_in_the_picture_and_labels(value: float) -> None:
    drawn = chart([flat(END - step, value) for step in range(50, 0, -1)])
    assert all(0 <= y <= HEIGHT for _, _, y in places_of(drawn.line))
    assert 2 <= len(drawn.y_labels) <= 7
    assert len(set(drawn.y_labels)) == len(drawn.y_labels)


def test_nothing_below_zero_is_drawn_of_what_is_never_below() -> None:
    assert chart([flat(END - 1, 0.0), flat(END, 0.0)], unit="").y_labels[-1] == "0"


@pytest.mark.parametrize(
    ("value", "unit", "label"),
    [(9e9, "B", "GB"), (2_500_000, "B/s", "MB/s"), (12, "B", "B"), (9e9, "W", "W")],
)
def test_bytes_have_a_prefix_and_other_units_are_the_sensors(
    value: float, unit: str, label: str
) -> None:
    drawn = chart([flat(END - 1, value), flat(END, value / 2)], unit=unit)
    assert drawn.unit == label
    assert drawn.y_labels[0].endswith(f" {label}")


@pytest.mark.parametrize(
    ("ring", "labels"),
    [
        (DAY, ("24 h ago", "18 h", "12 h", "6 h", "now")),
        (MONTH, ("21 Oct", "29 Oct", "5 Nov", "13 Nov", "now")),
    ],
)
def test_the_axis_of_a_longer_span_has_hours_or_dates(ring: Ring, labels: tuple[str, ...]) -> None:
    end = NOW_MS // ring.step_ms
    assert chart([flat(end - 1, 1.0), flat(end, 2.0)], ring=ring).x_labels == labels


def test_what_is_older_or_newer_than_the_span_is_not_drawn() -> None:
    outside = [flat(END - 800, 1.0), flat(END + 5, 2.0)]
    assert chart_of(curve_of(outside), "temperature", now_ms=NOW_MS) is None
    assert chart_of(curve_of([]), "temperature", now_ms=NOW_MS) is None


def test_a_door_is_drawn_as_open_or_closed() -> None:
    points = [flat(END - step, float(step // 100 % 2)) for step in range(600, 0, -1)]
    line = chart(points, unit="").line
    assert "L" not in line
    assert set(re.findall(r"V(\d+)", line)) == {"0", str(HEIGHT)}


NUMBERS = st.floats(-1e300, 1e300)


@given(
    st.lists(st.tuples(st.integers(END - 700, END), NUMBERS, NUMBERS, NUMBERS), min_size=1),
    st.sampled_from(["", "Cel", "B"]),
)
def test_whatever_a_sensor_sends_has_a_small_drawing_within_the_picture(
    values: list[tuple[int, float, float, float]], unit: str
) -> None:
    points = [
        Point(step, min(three), sorted(three)[1], max(three), three[0])
        for step, *three in sorted({each[0]: each for each in values}.values())
    ]
    drawn = chart(points, unit=unit)
    for kind, x, y in places_of(drawn.line) + places_of(drawn.band):
        assert kind in "ML"
        assert 0 <= x <= WIDTH
        assert 0 <= y <= HEIGHT
    assert len(drawn.line) + len(drawn.band) < 10_000
    assert 2 <= len(drawn.y_labels) <= 8
    assert not math.isnan(float(drawn.grid[0]))
