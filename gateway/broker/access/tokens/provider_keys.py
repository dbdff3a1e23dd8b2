"""Keys of an identity provider (RFC 7517), fetched in a thread and cached.

The keys are fetched again when they are older than `cache_seconds`. They are also fetched when a
token names an unknown key, because the provider may have a new key. At least FETCH_PAUSE_SECONDS
pass between two fetches, so tokens with invented key names cannot cause many fetches. While the
provider does not respond, the last keys remain valid for another `keep_seconds`.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from gateway.broker.access.logins.proven import digest_of
from gateway.broker.access.tokens.fetching import Fetcher, NotFetched, read

logger = logging.getLogger(__name__)

# Not Final, because tests shorten it.
FETCH_PAUSE_SECONDS: float = 10.0
"""Shortest time between two fetches."""

KEYS_MAX: Final = 100
"""Keys of a provider, at most. Providers have two or three keys, large providers about ten."""

DISCOVERY_PATH: Final = "/.well-known/openid-configuration"

_MATERIAL: Final = ("kty", "crv", "x", "y", "n", "e")

Key = Mapping[str, Any]
Fetch = Callable[[], list[Key]]
"""Function that returns a provider's keys or raises NotFetched. It blocks its thread."""


class Unavailable(Exception):
    """Error raised if no keys are available.

    The keys could not be fetched, and the cached keys have expired.
    """


class ProviderKeys:
    """Cache of an identity provider's keys, accessed by key name."""

    def __init__(self, fetch: Fetch, *, cache_seconds: float, keep_seconds: float) -> None:
        self._fetch = fetch
        self.cache_seconds = cache_seconds
        self._keep_seconds = keep_seconds
        self._keys: list[Key] = []
        self._digests: frozenset[bytes] = frozenset()
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")
        self._fetching: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "keys")
        self.failure: str | None = None
        """The reason why the last fetch failed, or None if it succeeded."""

    async def get(self, key_id: str | None) -> Key | None:
        """Return the key that the provider has named `key_id`, or None if there is no such key.

        If `key_id` is None, return the provider's only key. Raises Unavailable if there are no
        valid keys.
        """
        age_seconds = self._age_seconds()
        if age_seconds > self.cache_seconds + self._keep_seconds or not self._keys:
            await self._renew()
            if self._age_seconds() > self.cache_seconds + self._keep_seconds:
                raise Unavailable(self.failure or "the provider's keys were not fetched yet")
            return self._find(key_id)
        if age_seconds > self.cache_seconds:
            self._begin()  # the present keys are used until the fetch is complete
        found = self._find(key_id)
        if found is None:
            await self._renew()
            found = self._find(key_id)
        return found

    async def digests(self) -> frozenset[bytes]:
        """Return digests of the provider's current keys, for comparison with `Proven.digest`.

        The keys are fetched again if the cache has expired. If fetching fails, the last keys are
        used, however old they are.
        """
        if self._age_seconds() > self.cache_seconds:
            await self._renew()
        return self._digests

    def close(self) -> None:
        """Stop fetching the keys. A fetch that is already running finishes on its own."""
        if self._fetching is not None:
            self._fetching.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _age_seconds(self) -> float:
        return asyncio.get_running_loop().time() - self._fetched_at

    def _find(self, key_id: str | None) -> Key | None:
        if key_id is None:
            return self._keys[0] if len(self._keys) == 1 else None
        return next((key for key in self._keys if key.get("kid") == key_id), None)

    async def _renew(self) -> None:
        """Fetch the keys, unless they were last fetched too recently.

        If a fetch is already running, wait for that fetch instead of starting another.
        """
        self._begin()
        if self._fetching is not None:
            await asyncio.shield(self._fetching)

    def _begin(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._fetching is None and now - self._tried_at >= FETCH_PAUSE_SECONDS:
            self._tried_at = now
            self._fetching = asyncio.get_running_loop().create_task(self._fetch_once())

    async def _fetch_once(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._keys = await loop.run_in_executor(self._thread, self._fetch)
        except NotFetched as error:
            if self.failure is None:
                logger.warning("the identity provider's keys: %s", error)
            self.failure = str(error)
        else:
            if self.failure is not None:
                logger.info("the identity provider's keys were fetched again")
            self.failure = None
            self._digests = frozenset(digest_of(material_of(key)) for key in self._keys)
            self._fetched_at = loop.time()
        finally:
            self._fetching = None


def material_of(key: Key) -> bytes:
    """Return the parameters of a key as JSON (RFC 7638). The key's name is not included."""
    members = {name: key[name] for name in _MATERIAL if name in key}
    return json.dumps(members, sort_keys=True).encode()


def keys_in(document: Mapping[str, Any], source: str) -> list[Key]:
    """Return the keys in a JSON Web Key Set that can verify signatures.

    Raises NotFetched if `document` is not a key set. `source` is the document's path or URL, for
    the error message.
    """
    keys = document.get("keys")
    if not isinstance(keys, list) or len(keys) > KEYS_MAX:
        raise NotFetched(f"{source}: expected a list keys, of at most {KEYS_MAX}")
    return [
        key
        for key in keys
        if isinstance(key, dict) and key.get("use", "sig") == "sig" and key.get("kty") != "oct"
    ]


def from_file(path: Path) -> Fetch:
    """Return a function that reads an identity provider's keys from the file at `path`."""
    return lambda: keys_in(read(path), str(path))


def from_url(url: str, fetcher: Fetcher) -> Fetch:
    """Return a function that fetches an identity provider's keys from `url`."""
    return lambda: keys_in(fetcher.fetch(url), url)


def from_issuer(issuer: str, fetcher: Fetcher, may_be_fetched: Callable[[str], bool]) -> Fetch:
    """Return a function that fetches an issuer's keys (OpenID Connect Discovery, section 4).

    Args:
        issuer: URL of the issuer.
        fetcher: fetches the discovery document, and the keys from the URL in it.
        may_be_fetched: returns True if fetching keys from a given URL is allowed.
    """

    def fetch() -> list[Key]:
        place = issuer.rstrip("/") + DISCOVERY_PATH
        found = fetcher.fetch(place)
        url = found.get("jwks_uri")
        if found.get("issuer") != issuer:
            raise NotFetched(f"{place}: is the discovery of another issuer")
        if not isinstance(url, str) or not may_be_fetched(url):
            raise NotFetched(f"{place}: jwks_uri is no URL with https")
        return keys_in(fetcher.fetch(url), url)

    return fetch
