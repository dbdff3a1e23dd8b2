"""Trust in segments, based on the keys with which they are signed.

An untrusted segment makes the audit inconclusive, like a damaged segment. Its events prove nothing
about what the gateway did.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from gateway.uploader.segments.names import SegmentName


class SignatureTrust:
    """The keys that are trusted to sign each gateway's segments.

    The segments of a gateway must be checked in the order of their numbers.
    """

    def __init__(self, pinned: Mapping[str, Iterable[str]]) -> None:
        """Trust the keys in `pinned`, which come from the file of the option `--keys`.

        For the gateways in this file, no other keys are trusted.
        """
        self._pinned = frozenset(pinned)
        self._keys = {gateway: set(keys) for gateway, keys in pinned.items()}
        self._signing: set[str] = set()
        self.segments: Counter[tuple[str, str | None]] = Counter()
        """Number of segments for each gateway and signing key. The key is None if a segment is
        unsigned."""

    def add_keys(self, gateway: str, keys: Iterable[str]) -> None:
        """Trust the keys from a gateway's own data directory.

        The call has no effect if the file of the option `--keys` lists the gateway.
        """
        if gateway not in self._pinned:
            self._keys.setdefault(gateway, set()).update(keys)

    def is_trusted(self, gateway: str, public_key: str) -> bool:
        """Return True if a signature with the key is trusted.

        As long as a gateway has no known key, every key is trusted.
        """
        known = self._keys.get(gateway)
        return not known or public_key in known

    def objection_to(self, name: SegmentName, public_key: str | None) -> str | None:
        """Return the reason not to use a segment, or None if it can be used.

        `public_key` is the key that signed the segment, or None. The call also counts the segment
        for its gateway and key.
        """
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
