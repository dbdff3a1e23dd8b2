"""Settings for full client queues: the tables `[[queues]]`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from gateway.process.declarations.quantities import Text
from gateway.process.declarations.section import Section

CLIENT_PATTERN = Text(
    r"[^\x00]{1,1024}", 'a client identifier, in which "*" matches any characters'
)


@dataclass(frozen=True, kw_only=True)
class Queue(Section):
    """A table `[[queues]]`. It defines what the broker does when a client's queue is full.

    For each client, the first table whose pattern matches the client identifier applies.
    """

    client: Annotated[str, CLIENT_PATTERN]
    when_full: Literal["slow", "drop_newest", "drop_oldest", "refuse"]
