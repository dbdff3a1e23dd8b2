"""Settings of the connection to an upstream broker: `[uplink]` and `[[uplink.topics]]`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from gateway.configuration.addresses import FilePath, HostAndPort, TopicFilter
from gateway.configuration.sections import MIB, TIB, YEAR_SECONDS, Secret
from gateway.configuration.tls import ClientTls
from gateway.process.declarations.quantities import Duration, Items, Size, Text, Whole, refusal
from gateway.process.declarations.section import Section

TOPIC = r"[^\x00+#]{1,1024}"
PREFIX = Text(
    r"([^\x00+#$][^\x00+#]{0,1023})?",
    'a text without "+" and "#" that does not begin with "$", like "site-7/"',
)


@dataclass(frozen=True, kw_only=True)
class UplinkTopic(Section):
    """Topics whose messages the uplink forwards. The keys are named as in Mosquitto's bridges."""

    descriptions: ClassVar[Mapping[str, str]] = {
        "filter": "Topic filter of the carried messages, without the prefix of either side.",
        "direction": '"out" is to the upstream broker, "in" is from it, and "both" is both ways.',
        "qos": "Highest QoS of carried messages. A message with a lower QoS keeps it.",
        "local_prefix": "Prefix of the topics at this gateway's broker.",
        "remote_prefix": "Prefix of the topics at the upstream broker.",
    }

    filter: Annotated[str, TopicFilter()]
    direction: Literal["out", "in", "both"] = "out"
    qos: Annotated[int, Whole(0, 2)] = 2
    local_prefix: Annotated[str, PREFIX] = ""
    remote_prefix: Annotated[str, PREFIX] = ""

    def check(self) -> None:
        if self.filter.startswith("$share/"):
            raise refusal(
                'a filter without "$share/": the uplink is one client, and needs every message'
            )
        for prefix in (self.local_prefix, self.remote_prefix):
            try:
                TopicFilter().value_of(prefix + self.filter)
            except ValueError:
                raise refusal(
                    f'a prefix that ends a level, like "site-7/": {prefix + self.filter!r} is no '
                    "topic filter"
                ) from None
        # [MQTT5-4.7.2-1] topics that begin with "$" belong to the broker.
        if (self.taken_from_remote and self.local_filter.startswith("$")) or (
            self.taken_from_local and self.remote_filter.startswith("$")
        ):
            raise refusal('a prefix for topics that begin with "$": clients cannot publish to them')

    @property
    def local_filter(self) -> str:
        """The topic filter as used on this gateway's broker."""
        return self.local_prefix + self.filter

    @property
    def remote_filter(self) -> str:
        """The topic filter as used on the upstream broker."""
        return self.remote_prefix + self.filter

    @property
    def taken_from_local(self) -> bool:
        """True if the uplink forwards messages from this gateway to the upstream broker."""
        return self.direction != "in"

    @property
    def taken_from_remote(self) -> bool:
        """True if the uplink forwards messages from the upstream broker to this gateway."""
        return self.direction != "out"


@dataclass(frozen=True, kw_only=True)
class Uplink(Section):
    """The connection to an upstream broker. At QoS 2 each message is delivered exactly once."""

    address: Annotated[str, HostAndPort()] | None = None
    protocol: Annotated[int, Whole(4, 5)] = 5
    client_id: Annotated[str, Text(r"[^\x00]{1,256}", "a text of 1 to 256 characters")] | None = (
        None
    )
    username: Secret | None = None
    password_file: Annotated[Path, FilePath()] | None = None
    tls: ClientTls | None = None
    topics: Annotated[tuple[UplinkTopic, ...], Items()] = ()
    queue_max: Annotated[int, Size(MIB, TIB)] = 256 * MIB
    window: Annotated[int, Whole(1, 65_000)] | None = None
    session_expiry: Annotated[float | None, Duration(60, 100 * YEAR_SECONDS, never=True)] = None
    availability_topic: Annotated[str, Text(TOPIC, 'a topic without "+" and "#"')] | None = None
    local_broker: Annotated[str, HostAndPort()] | None = None
    local_username: Secret | None = None
    local_password_file: Annotated[Path, FilePath()] | None = None

    def check(self) -> None:
        if self.address is None:
            if self.topics:
                raise refusal('address, like "broker.example:8883", with topics')
            return
        if not self.topics:
            raise refusal("[[uplink.topics]], the topics to carry, with address")
        for name in ("", "local_"):
            if getattr(self, f"{name}password_file") and not getattr(self, f"{name}username"):
                raise refusal(f"{name}username with {name}password_file")
        for fix in self._overlaps():
            raise refusal(fix)

    def _overlaps(self) -> Iterator[str]:
        """Yield an error message for each pair of overlapping topics.

        A message that matches both would be forwarded twice, or sent back to its origin.
        """
        out = [each for each in self.topics if each.taken_from_local]
        into = [each for each in self.topics if each.taken_from_remote]
        for one, other in combinations([each.local_filter for each in out], 2):
            if overlap(one, other):
                yield f"filters that have no topic in common: {one!r} and {other!r} both go out"
        for one, other in combinations([each.remote_filter for each in into], 2):
            if overlap(one, other):
                yield f"filters that have no topic in common: {one!r} and {other!r} both come in"
        if self.protocol == 5:
            return  # its subscriptions are no-local
        for going in out:
            for coming in into:
                if overlap(going.remote_filter, coming.remote_filter):
                    yield (
                        f"protocol = 5, or filters that have no topic in common: with MQTT 3.1.1 "
                        f"messages to {going.remote_filter!r} would come back"
                    )


def overlap(one: str, other: str) -> bool:
    """Return True if there is a topic that matches both filters."""
    first, second = one.split("/"), other.split("/")
    # [MQTT5-4.7.2-1] a leading wildcard does not match names that begin with "$".
    for mine, yours in ((first[0], second[0]), (second[0], first[0])):
        if mine in ("+", "#") and yours.startswith("$"):
            return False
    for mine, yours in zip(first, second, strict=False):
        if "#" in (mine, yours):
            return True
        if mine != yours and "+" not in (mine, yours):
            return False
    longer = first if len(first) > len(second) else second
    shorter_length = min(len(first), len(second))
    # "#" also matches its parent level.
    return len(first) == len(second) or longer[shorter_length:] == ["#"]
