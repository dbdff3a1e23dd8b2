"""Creates the user source for clients that authenticate with tokens (`[access.jwt]`).

This module is imported only if the source is configured, because it needs an optional package.
"""

import json

from gateway.broker.access.errors import AccessFileError
from gateway.broker.access.tokens.fetching import Fetcher, NotFetched
from gateway.broker.access.tokens.provider_keys import (
    Fetch,
    ProviderKeys,
    from_file,
    from_issuer,
    from_url,
)
from gateway.broker.access.tokens.users import TokenUsers
from gateway.broker.access.tokens.verification import TokenRules
from gateway.configuration.jwt import Jwt, ProviderUrl


def token_users_of(jwt: Jwt) -> TokenUsers:
    """Return the user source for `[access.jwt]`.

    Raises AccessFileError if the key file or the CA file cannot be read.
    """
    rules = TokenRules(
        issuer=jwt.issuer,
        audience=jwt.audience,
        username_claim=jwt.username_claim,
        groups_claim=jwt.groups_claim,
        client_id_claim=jwt.client_id_claim,
        algorithms=jwt.algorithms,
        leeway_seconds=jwt.leeway,
    )
    fetch = _fetch_of(jwt)
    settings = repr(jwt)
    if jwt.jwks_file is not None:
        try:
            settings += json.dumps(fetch())
        except NotFetched as error:
            raise AccessFileError(f"[access.jwt] jwks_file: {error}") from None
    keys = ProviderKeys(fetch, cache_seconds=jwt.cache, keep_seconds=jwt.keep)
    return TokenUsers(rules, keys, settings)


def _fetch_of(jwt: Jwt) -> Fetch:
    if jwt.jwks_file is not None:
        return from_file(jwt.jwks_file)
    try:
        fetcher = Fetcher(jwt.timeout, jwt.ca)
    except NotFetched as error:
        raise AccessFileError(f"[access.jwt] ca: {error}") from None
    if jwt.jwks_url is not None:
        return from_url(jwt.jwks_url, fetcher)
    return from_issuer(jwt.issuer, fetcher, _may_be_fetched)


def _may_be_fetched(url: str) -> bool:
    try:
        ProviderUrl().value_of(url)
    except ValueError:
        return False
    return True
