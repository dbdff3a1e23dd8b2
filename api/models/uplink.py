"""The uplink's report: its two connections, and the messages in transit in each direction."""

from pydantic import Field

from api.models.values import Count, Reported


class UplinkSide(Reported):
    connected: bool
    address: str
    session: str | None
    connections: Count
    """Number of connections since the uplink started."""
    fault: str | None
    """Reason why the latest attempt to connect failed."""
    repeats: Count
    """QoS 2 messages that this broker sent twice and the uplink stored once."""


class UplinkWay(Reported):
    """One direction of the uplink. The counters begin at 0 when the uplink starts."""

    waiting: Count
    in_flight: Count
    bytes: Count
    bytes_max: Count
    forwarded: Count
    forwarded_qos0: Count
    dropped_qos0: Count
    expired: Count
    refused: Count
    too_large: Count
    looped: Count
    unrouted: Count
    republished: Count
    unexpected_answers: Count


class UplinkStatus(Reported):
    local: UplinkSide
    """This gateway's broker."""
    remote: UplinkSide
    """The upstream broker."""
    out: UplinkWay
    into: UplinkWay = Field(alias="in")
    disk_full: bool
