"""Shares of the limits, so that one client, address or user leaves the others room: `[quotas]`."""

from dataclasses import dataclass
from typing import Annotated

from gateway.configuration.addresses import Network
from gateway.keys.quantities import Items, Whole
from gateway.keys.section import Section


@dataclass(frozen=True, kw_only=True)
class Quotas(Section):
    """What one address may have of what there is."""

    max_connections_per_address: Annotated[int, Whole(1, 1_000_000)] | None = None
    max_connection_rate_per_address: Annotated[int, Whole(0, 1_000_000)] = 100
    exempt_addresses: Annotated[tuple[Annotated[str, Network()], ...], Items()] = ()
