"""Base class of all packets. It defines equality by value and a text form without secrets."""

from typing import Final

from mypy_extensions import mypyc_attr

PAYLOAD_SHOWN_BYTES_MAX: Final = 32


def topic_field_of(topic: str) -> bytes:
    """Encode a topic as a field of a packet: length u16, then UTF-8."""
    raw = topic.encode("utf-8")
    assert len(raw) <= 65_535, f"topic of {len(raw)} bytes: at most 65535 fit into a packet"
    return len(raw).to_bytes(2, "big") + raw


def _shown(name: str, value: object) -> str:
    if name == "password":
        return "password=None" if value is None else "password=<hidden>"
    if isinstance(value, bytes) and len(value) > PAYLOAD_SHOWN_BYTES_MAX:
        return f"{name}={value[:PAYLOAD_SHOWN_BYTES_MAX]!r}... ({len(value)} bytes)"
    return f"{name}={value!r}"


@mypyc_attr(acyclic=True)
class Value:  # noqa: PLW1641 - mutable, so not to be hashed
    """Base class of objects that are equal if they have the same class and equal fields."""

    def fields(self) -> list[tuple[str, object]]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value) or type(self) is not type(other):
            return False
        return self.fields() == other.fields()

    def __repr__(self) -> str:
        shown = ", ".join([_shown(name, value) for name, value in self.fields()])
        return f"{type(self).__name__}({shown})"


@mypyc_attr(acyclic=True)
class Packet(Value):
    kind: int = 0
