"""Which key vouches for which segment, and why a segment is not used that none vouches for.

The verdict is the same as of a damaged segment, inconclusive: that a segment has no signature of
its gateway proves nothing about what the gateway did, but its events prove nothing either.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from gateway.session_log.segments.names import SegmentName


class Vouching:
    """Sees the segments of each gateway in the order of their numbers."""

    def __init__(self, pinned: Mapping[str, Iterable[str]]) -> None:
        """Begin with the keys of the file of `--keys`: of gateways in it no others are taken."""
        self._pinned = frozenset(pinned)
        self._keys = {gateway: set(keys) for gateway, keys in pinned.items()}
        self._signing: set[str] = set()
        self.segments: Counter[tuple[str, str | None]] = Counter()
        """How many segments of a gateway a key signed; None: unsigned."""

    def trust(self, gateway: str, keys: Iterable[str]) -> None:
        """Add the keys that a data directory names as its own, where none are pinned."""
        if gateway not in self._pinned:
            self._keys.setdefault(gateway, set()).update(keys)

    def may_vouch(self, gateway: str, public_key: str) -> bool:
        """Return true if a key is a known one of a gateway, or may become its first."""
        known = self._keys.get(gateway)
        return not known or public_key in known

    def objection_to(self, name: SegmentName, public_key: str | None) -> str | None:
        """Count a segment, and return why it is not to be used, None where it is."""
        gateway = name.gateway
        self.segments[gateway, public_key] += 1
        if public_key is None:
            if gateway in self._signing or gateway in self._pinned:
                return f"segment {name.segment} is unsigned, and {gateway} signs its segments"
            return None
        known = self._keys.get(gateway)
        if not known:
            # Trust on first use, as the Spark job does.
            known = self._keys[gateway] = {public_key}
        if public_key not in known:
            return (
                f"segment {name.segment} is signed by {public_key}, which is no known key of "
                f"{gateway} (if the gateway lost its key, name both with --keys)"
            )
        self._signing.add(gateway)
        return None
