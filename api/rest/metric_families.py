"""Metric families, each with a name, a help text, and samples with labels."""

from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

from api import limits
from api.models.broker import Journal

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

Samples = Iterable[tuple[Mapping[str, str], float | None]]


def gauge(name: str, text: str, samples: Samples) -> "Metric":
    """Return a metric of type gauge. Samples whose value is unknown are left out."""
    from prometheus_client.metrics_core import GaugeMetricFamily  # noqa: PLC0415 - memory, see metrics

    return _filled(GaugeMetricFamily(f"oncegate_{name}", text), f"oncegate_{name}", samples)


def counter(name: str, text: str, samples: Samples) -> "Metric":
    """Return a metric of type counter. Samples whose value is unknown are left out."""
    from prometheus_client.metrics_core import CounterMetricFamily  # noqa: PLC0415 - memory, see metrics

    family = CounterMetricFamily(f"oncegate_{name}", text)
    return _filled(family, f"oncegate_{name}_total", samples)


def histogram(name: str, text: str, journal: Journal) -> "Metric":
    """Return the histogram of commit durations, in seconds."""
    from prometheus_client.metrics_core import HistogramMetricFamily  # noqa: PLC0415 - memory, see metrics

    histogram = journal.commit_histogram
    assert histogram is not None
    bounds = [f"{bound / 1000:g}" for bound in histogram.bounds_ms] + ["+Inf"]
    buckets = list(zip(bounds, accumulate(histogram.counts), strict=False))
    total_seconds = journal.commit_ms_mean * journal.batches / 1000
    return HistogramMetricFamily(f"oncegate_{name}", text, buckets=buckets, sum_value=total_seconds)


def _filled(family: "Metric", name: str, samples: Samples) -> "Metric":
    """Add samples to a metric family and return the family.

    Samples with unknown values are left out.
    """
    for labels, value in samples:
        if value is not None:
            family.add_sample(name, dict(labels), value)
    return family


def value(name: str, text: str, value: float) -> "Metric":
    """Return a metric of type gauge with one sample and no labels."""
    return gauge(name, text, [({}, value)])


def count(name: str, text: str, value: float) -> "Metric":
    """Return a metric of type counter with one sample and no labels."""
    return counter(name, text, [({}, value)])


def by(label: str, values: Mapping[str, float | None]) -> Samples:
    """Return one sample per value, with the value's key as the label `label`.

    At most METRIC_REASONS_MAX values are included, sorted by key.
    """
    return [({label: name}, value) for name, value in first(values)]


def first(values: Mapping[str, float | None]) -> list[tuple[str, float | None]]:
    """Sort values by name, and return at most the first METRIC_REASONS_MAX of them."""
    return sorted(values.items())[: limits.METRIC_REASONS_MAX]
