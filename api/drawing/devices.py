"""Selects the devices and quantities that the pages show, with their values, times and charts."""

from collections.abc import Sequence
from dataclasses import dataclass

from api import limits
from api.drawing.chart import Chart, chart_of
from api.history.history import History
from api.history.readings import name_of
from api.models.bridge import BridgeStatus, Device, Port, Quantity, devices_of
from api.wording import quantity_name_of


@dataclass(frozen=True)
class ShownQuantity:
    """A quantity to show on a page. If it has no chart, `chart` is None."""

    quantity: Quantity
    series: str
    time_ms: int | None
    chart: Chart | None


@dataclass(frozen=True)
class ShownDevice:
    """A device, the port that it is connected to, and the quantities to show."""

    port: Port
    device: Device
    quantities: tuple[ShownQuantity, ...]
    others: int
    """Number of the device's quantities that are not in `quantities`."""


def shown_on_overview(
    bridge: BridgeStatus, history: History, *, now_ms: int
) -> tuple[list[ShownDevice], int]:
    """Return the devices to show on the overview page, and the number of devices left out.

    At most DEVICES_ON_OVERVIEW_MAX devices are returned, with a few quantities each.
    """
    found = list(devices_of(bridge))
    charts_left = limits.CHARTS_ON_OVERVIEW_MAX
    shown = []
    for port, device in found[: limits.DEVICES_ON_OVERVIEW_MAX]:
        chosen = device.quantities[: limits.QUANTITIES_ON_OVERVIEW_MAX]
        quantities = []
        for quantity in chosen:
            each = _shown(device, quantity, history, now_ms=now_ms, draw=charts_left > 0)
            charts_left -= each.chart is not None
            quantities.append(each)
        others = len(device.quantities) - len(chosen)
        shown.append(ShownDevice(port, device, tuple(quantities), others))
    return shown, len(found) - len(shown)


def _shown(
    device: Device, quantity: Quantity, history: History, *, now_ms: int, draw: bool
) -> ShownQuantity:
    series = name_of(device.device, quantity.name)
    chart = None
    if draw and isinstance(quantity.value, int | float):
        curve = history.last_hour(series)
        name = quantity_name_of(quantity.name)
        chart = chart_of(curve, name, now_ms=now_ms, bins=limits.POINTS_ON_OVERVIEW_MAX)
    time_ms = quantity.time_ms if quantity.time_ms is not None else device.last_ms
    return ShownQuantity(quantity, series, time_ms, chart)


def topic_filter_of(port: Port, device: Device) -> str | None:
    """Return a topic filter that matches all readings of a device and nothing else.

    Return None if there is no such filter. This is the case if the port's topics do not contain the
    name of the device, or if the name of the quantity is only a part of a topic level.
    """
    if port.topic is None or "{device}" not in port.topic:
        return None
    levels = port.topic.replace("{device}", device.device).split("/")
    if any("{quantity}" in level and level != "{quantity}" for level in levels):
        return None
    return "/".join("+" if level == "{quantity}" else level for level in levels)


def csv_series_of(quantities: Sequence[ShownQuantity]) -> list[str]:
    """Return the names of the series for a CSV download.

    Only numeric quantities are included. The number of names is limited to
    ``SERIES_PER_REQUEST_MAX``, the maximum for one request.
    """
    numbers = [each.series for each in quantities if isinstance(each.quantity.value, int | float)]
    return numbers[: limits.SERIES_PER_REQUEST_MAX]
