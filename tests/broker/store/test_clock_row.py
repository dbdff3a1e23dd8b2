"""The row of gateway time in the tables: loaded as written, and ignored if damaged."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.core.gateway_time import ClockQuality, GatewayTime, Outage
from gateway.broker.store.clock_row import load, row_of

milliseconds = st.integers(0, 1 << 53)
outages = st.builds(Outage, milliseconds, st.integers(1, 1 << 40), milliseconds)


def fields_of(time: GatewayTime) -> tuple[object, ...]:
    """Return all fields of the row."""
    run = [] if time.run is None else [time.run]
    known = [(each.before_ms, each.before_message, each.length_ms) for each in time.outages + run]
    return time.time_ms, time.wall_ms, time.clock, time.offset_ms, bool(run), known


@given(
    numbers=st.tuples(milliseconds, milliseconds),
    clock=st.sampled_from(ClockQuality),
    offset_ms=st.none() | st.integers(-(1 << 53), 1 << 53),
    run=st.none() | outages,
    known=st.lists(outages, max_size=4),
)
def test_gateway_time_is_loaded_as_it_was_written(
    numbers: tuple[int, int],
    clock: ClockQuality,
    offset_ms: int | None,
    run: Outage | None,
    known: list[Outage],
) -> None:
    time = GatewayTime()
    time.time_ms, time.wall_ms = numbers
    time.clock, time.offset_ms, time.run, time.outages = clock, offset_ms, run, known
    loaded = GatewayTime()
    assert load(loaded, row_of(time))
    assert fields_of(loaded) == fields_of(time)


@pytest.mark.parametrize("name", list(json.loads(row_of(GatewayTime()))))
@pytest.mark.parametrize("value", ["absent", "word", [1, 2], {"a": 1}, float("inf")])
def test_a_row_with_a_damaged_field_changes_nothing(name: str, value: object) -> None:
    time = GatewayTime()
    time.time_ms, time.outages = 5, [Outage(1, 2, 3)]
    row = json.loads(row_of(time))
    row[name] = value
    if value == "absent":
        del row[name]
    kept = fields_of(time)
    assert not load(time, json.dumps(row))
    assert fields_of(time) == kept


@given(text=st.text() | st.recursive(st.none() | st.integers(), st.lists).map(json.dumps))
def test_a_row_of_anything_else_is_no_row(text: str) -> None:
    time = GatewayTime()
    assert not load(time, text)
    assert fields_of(time) == fields_of(GatewayTime())
