"""The gateway's host name and network, and the arguments of the commands that change them."""

from typing import Annotated, Literal

from pydantic import Field

from api import limits
from api.models.actions import Given
from api.models.values import Integer, Password, Reported, Seconds

_Text = Annotated[str, Field(max_length=limits.NETWORK_TEXT_CHARACTERS_MAX)]
_Line = Annotated[str, Field(max_length=limits.SENTENCE_CHARACTERS_MAX)]


class WifiSettings(Reported):
    """The wireless network to join."""

    ssid: _Text
    country: _Text | None
    hidden: bool
    """True if the network does not broadcast its name."""


class EthernetSettings(Reported):
    """A fixed address for Ethernet."""

    address: _Text
    """IPv4 address with its prefix length, like `192.0.2.10/24`."""
    gateway: _Text | None
    dns: Annotated[list[_Text], Field(max_length=limits.NETWORK_ITEMS_MAX)]
    interface: _Text | None
    """The adapter that gets the address, like `end0`; null if every Ethernet adapter gets it."""


class LastChange(Reported):
    """The last change to the host name or the network settings."""

    state: Literal["trial", "kept", "undone", "refused"]
    """`trial`: the change is undone unless an administrator keeps it."""
    sentence: _Line
    seconds_left: Seconds | None
    """Time until a change on trial is undone; null in other states."""


class Interface(Reported):
    """A network interface with its current addresses."""

    name: _Text
    addresses: Annotated[list[str], Field(max_length=limits.NETWORK_ITEMS_MAX)]
    """Addresses with prefix lengths; link-local addresses are left out."""
    is_wireless: bool
    ssid: str | None
    """The wireless network that it has joined; null if there is none."""
    signal_dbm: Integer | None
    """Signal strength in dBm, such as -60; null if it is unknown."""


class Network(Reported):
    """The gateway's host name and network: current state, stored settings and last change."""

    hostname: _Text
    """The name in use."""
    interfaces: list[Interface]
    missing_adapter: str | None
    """The adapter that is set for the fixed address, if this machine does not have it; otherwise
    null. A USB adapter gets the address when it is plugged in."""
    gateway: str | None
    """The router of the default route; null if there is none."""
    dns: list[str]
    """The name servers in use."""
    wifi: WifiSettings | None
    """The wireless network that is set; null if there is none."""
    ethernet: EthernetSettings | None
    """The fixed address that is set; null if Ethernet uses DHCP."""
    change: LastChange | None
    """The last change; null if there was none."""


class ChangeNetwork(Given):
    hostname: _Text | None = None
    """The new name: 1 to 63 of a-z, 0-9 and `-`; null: unchanged."""
    wifi: Literal["keep", "join", "off"] = "keep"
    """`join` needs `wifi_ssid`; `off` forgets the wireless network."""
    wifi_ssid: _Text | None = None
    wifi_password: _Text | None = None
    """Null or empty: the stored password of the same network."""
    wifi_country: _Text | None = None
    """Country code (ISO 3166-1), which opens the country's channels."""
    wifi_hidden: bool | None = None
    """True if the network does not broadcast its name."""
    ethernet: Literal["keep", "dhcp", "fixed"] = "keep"
    """`fixed` needs `ethernet_address`."""
    ethernet_address: _Text | None = None
    """IPv4 address with its prefix length, like `192.0.2.10/24`."""
    ethernet_gateway: _Text | None = None
    ethernet_dns: Annotated[list[_Text], Field(max_length=limits.NETWORK_ITEMS_MAX)] | None = None
    """IP addresses of name servers."""
    ethernet_interface: _Text | None = None
    """The adapter that gets the fixed address, like `end0`; null: every Ethernet adapter."""
    own_password: Password
    """The password of the administrator who makes the change."""


class Answered(Given):
    """Arguments of a request to keep or undo a network change: an empty object, `{}`."""


class Requested(Reported):
    """Confirmation that a request has been passed to the system on the SD card."""

    requested: bool
    """Always true: the card's system now executes the request."""
