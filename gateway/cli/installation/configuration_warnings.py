"""Warnings about a configuration that can be used, but is probably not what was meant."""

from collections.abc import Iterator
from pathlib import Path

from gateway.configuration.header_uart import warning_about
from gateway.configuration.whole import Configuration
from gateway.process.declarations.units import UNITS, unit_meant_by


def warnings_about(configuration: Configuration) -> list[str]:
    """Return all warnings about a configuration, one line each."""
    return [
        *_about_devices(configuration),
        *_about_names(configuration),
        *_about_units(configuration),
        *_about_console(configuration),
    ]


def _about_devices(configuration: Configuration) -> Iterator[str]:
    """Yield a warning for each port whose path leads to the device of an earlier port.

    Only devices that are plugged in are compared.
    """
    ports: dict[Path, str] = {}
    for port in configuration.serial:
        if port.path is None or not port.path.exists():
            continue
        first = ports.setdefault(port.path.resolve(), port.name)
        if first != port.name:
            yield (
                f"serial port {port.name}: warning: {port.path} is the device of the serial port "
                f"{first}, too: a device has one reader"
            )


def _about_names(configuration: Configuration) -> Iterator[str]:
    """Yield a warning for each name in a port's `units` and rules that no quantity has."""
    for port in configuration.serial:
        known = port.quantities_known
        if known is None:
            continue
        for key, name in port.quantities_named:
            if name not in known:
                yield (
                    f'serial port {port.name}: warning: "{name}" in {key} is none of its '
                    f"quantities: {', '.join(sorted(known))}"
                )


def _about_units(configuration: Configuration) -> Iterator[str]:
    """Yield a warning for each unit that SenML does not define."""
    for port in configuration.serial:
        for unit in sorted(port.units_named - UNITS):
            meant = unit_meant_by(unit)
            fix = "RFC 8428 and RFC 8798 list them" if meant is None else f'write "{meant}"'
            yield f'serial port {port.name}: warning: "{unit}" is not a SenML unit: {fix}'


def _about_console(configuration: Configuration) -> Iterator[str]:
    """Yield a warning for each serial port that is, or might be, this machine's console."""
    if configuration.console.uart is not None:
        return
    for port in configuration.serial:
        warning = None if port.path is None else warning_about(port.path)
        if warning is not None:
            yield f"serial port {port.name}: warning: {warning}"
