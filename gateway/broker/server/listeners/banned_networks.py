"""A set of banned networks, in which an address is found with one lookup per prefix length."""

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class BannedNetworks:
    """A set of IP networks.

    `address in networks` is True if one of the networks contains the address.
    """

    def __init__(self, networks: list[Network]) -> None:
        self._by_length: dict[tuple[int, int], set[int]] = {}
        for network in networks:
            self._add(network)

    def _add(self, network: Network) -> None:
        bits = network.max_prefixlen - network.prefixlen
        begins = self._by_length.setdefault((network.version, bits), set())
        begins.add(int(network.network_address) >> bits)

    def __bool__(self) -> bool:
        return bool(self._by_length)

    def __contains__(self, address: Address) -> bool:
        number, version = int(address), address.version
        return any(
            number >> bits in begins
            for (network_version, bits), begins in self._by_length.items()
            if network_version == version
        )


def network_of(text: str) -> Network:
    """Parse a network in canonical form, such as 192.0.2.0/24."""
    return ipaddress.ip_network(text)
