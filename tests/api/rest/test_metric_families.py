"""Families of Prometheus metrics as text."""

from prometheus_client.exposition import generate_latest
from prometheus_client.registry import CollectorRegistry

from api import limits
from api.rest.metric_families import by, counter, first, gauge, value


class Collected:
    """A collector that returns the given families."""

    def __init__(self, *families: object) -> None:
        self.families = families

    def collect(self) -> tuple[object, ...]:
        return self.families


def text_of(*families: object) -> list[str]:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collected(*families))  # type: ignore[arg-type]
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_samples_have_their_labels_and_an_unknown_value_none() -> None:
    assert text_of(
        value("up", "1: the broker answers.", 1),
        gauge("age", "Age.", by("process", {"bridge": 0.5, "uplink": None})),
        counter("drops", "Drops.", [({"reason": 'a "b"'}, 3)]),
    ) == [
        "oncegate_up 1.0",
        'oncegate_age{process="bridge"} 0.5',
        'oncegate_drops_total{reason="a \\"b\\""} 3.0',
    ]


def test_samples_by_name_are_sorted_and_bounded() -> None:
    many = {f"{number:04}": 1.0 for number in range(1000, 0, -1)}
    assert [name for name, _ in first(many)] == [
        f"{number:04}" for number in range(1, limits.METRIC_REASONS_MAX + 1)
    ]
