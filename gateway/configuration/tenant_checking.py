"""Checks that the configurations of the gateway and its tenants do not conflict with each other."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from gateway.configuration.checking import configuration_of
from gateway.configuration.conflicts import collide
from gateway.configuration.problems import ConfigurationError, Location
from gateway.configuration.tenants import (
    DIRECTORY,
    SourceOf,
    in_tables_of,
    tables_of,
    tenants_in,
)
from gateway.configuration.whole import Configuration
from gateway.process.declarations.protocol import Protocols
from gateway.process.files.pem import certificates_in


def whole_of(
    tables: Mapping[str, Any],
    source_of: SourceOf,
    protocols: Protocols,
    *,
    unknown: Collection[str],
    problems: list[str],
) -> Configuration:
    """Return the configuration of the gateway, including its tenants.

    Args:
        tables: the whole file, including `tenants`.
        source_of: function that returns where a value was set, for use in messages.
        protocols: the allowed values of `framing`.
        unknown: sections that could not be read completely.
        problems: messages about mistakes that were found earlier.

    Raises:
        ConfigurationError: a configuration is invalid. The exception has one line for each mistake.
    """
    lines = [*problems]
    top = {name: table for name, table in tables.items() if name != "tenants"}
    made: Configuration | None = None
    try:
        made = configuration_of(top, source_of, protocols, unknown=unknown)
    except ConfigurationError as error:
        lines += error.problems
    found, refusals = tenants_in(tables.get("tenants", {}), source_of)
    lines += refusals
    tenants: dict[str, Configuration] = {}
    for name, own in found.items():
        try:
            tenants[name] = _tenant_of(name, own, top, made, source_of)
        except ConfigurationError as error:
            lines += in_tables_of(name, [*error.problems])
    whole = {"": made} if made is not None else {}
    lines += [f"{source_of(())}: use {fix}" for fix in crossings({**whole, **tenants})]
    if lines or made is None:
        raise ConfigurationError(lines)
    return _sharing_the_disk(made, tenants)


def _sharing_the_disk(top: Configuration, tenants: dict[str, Configuration]) -> Configuration:
    count = 1 + len(tenants)
    shared = {name: replace(each, brokers_count=count) for name, each in tenants.items()}
    return replace(top, tenants=shared, brokers_count=count)


def _tenant_of(
    name: str,
    own: Mapping[str, Any],
    top: Mapping[str, Any],
    parent: Configuration | None,
    source_of: SourceOf,
) -> Configuration:
    """Return a tenant's configuration. Raises ConfigurationError if it is invalid.

    `own` contains the tenant's tables, and `top` the tables at the top level. `parent` is the
    gateway's configuration. It is None if the top level has a mistake, which is reported
    separately. The tenant inherits limits from the top level, unless `parent` is None.
    """
    gateway = parent.gateway if parent is not None else Configuration().gateway
    place = f"{DIRECTORY}/{name}"
    tables = tables_of(
        own,
        top if parent is not None else {},
        data_dir=str(gateway.data_dir / place),
        control_dir=None if gateway.control_dir is None else str(gateway.control_dir / place),
    )

    def source_within(location: Location) -> str:
        return source_of(("tenants", name, *location))

    lines: list[str] = []
    if not own.get("listeners"):
        lines.append(
            f"{source_within(())}: [[listeners]] is missing: a tenant has listeners of its own"
        )
    try:
        configuration = configuration_of(tables, source_within, tenant=name)
    except ConfigurationError as error:
        raise ConfigurationError([*lines, *error.problems]) from None
    if lines:
        raise ConfigurationError(lines)
    return configuration


def crossings(configurations: Mapping[str, Configuration]) -> Iterator[str]:
    """Yield an error message for each conflict between two tenants, such as the same port.

    A tenant's port 0 is reported too, because the tenant's programs must know the port. Each
    message contains the fix.

    Args:
        configurations: the configurations, keyed by tenant name. The gateway has the name "".
    """
    for name, configuration in configurations.items():
        if name and 0 in _ports_of(configuration):
            yield (
                f"a port other than 0 for the tenant {name}: its programs find each other by this "
                "file"
            )
    for (one, first), (other, second) in combinations(configurations.items(), 2):
        pair = f"{_words_of(one)} and {_words_of(other)}"
        yield from _one_address(pair, first, second)
        for what, mine, theirs in _files_of(first, second):
            if mine is not None and mine == theirs:
                yield f"another {what} for one of {pair}: both have {mine}"
        if _within(first.upload_target, second.upload_target):
            yield (
                f"separate targets in [upload] for {pair}, neither inside the other: a reader of "
                "one could read both"
            )
        if first.access.jwt is not None and second.access.jwt is not None:
            mine, theirs = first.access.jwt, second.access.jwt
            if (mine.issuer, mine.audience) == (theirs.issuer, theirs.audience):
                yield (
                    f"another audience in [access.jwt] for one of {pair}: both accept the "
                    "same tokens"
                )
        yield from _common_authority(pair, first, second)
        yield from _common_session_upstream(pair, first, second)


def _ports_of(configuration: Configuration) -> list[int]:
    ports = [each.port for each in configuration.listeners if each.path is None]
    return [*ports, configuration.api.port] if "api" in configuration.given else ports


def _one_address(pair: str, first: Configuration, second: Configuration) -> Iterator[str]:
    for mine in _addresses_of(first):
        for theirs in _addresses_of(second):
            if collide(mine, theirs):
                yield f"another port for one of {pair}: both have {mine[0]} port {mine[1]}"
    sockets = [each.path for each in first.listeners if each.path is not None]
    for listener in second.listeners:
        if listener.path is not None and listener.path in sockets:
            yield f"another path for one of {pair}: both listen at {listener.path}"


def _addresses_of(configuration: Configuration) -> list[tuple[str, int]]:
    found = [(each.bind, each.port) for each in configuration.listeners if each.path is None]
    page = configuration.api
    # A tenant has a page only with [api]; the gateway always has one.
    if configuration.tenant is None or "api" in configuration.given:
        found.append((page.listens_at, page.port))
    return found


def _files_of(first: Configuration, second: Configuration) -> Iterator[tuple[str, object, object]]:
    access, others = first.access, second.access
    yield "[access] password_file", access.password_file, others.password_file
    yield "[api] tokens_file", first.api.tokens_file, second.api.tokens_file
    yield "[access.mysql] database or query", _query_of(first), _query_of(second)


def _query_of(configuration: Configuration) -> object:
    """Return the database and query used to look up users, or None if there is no database."""
    mysql = configuration.access.mysql
    return None if mysql is None else (mysql.server, mysql.socket, mysql.database, mysql.query)


def _common_authority(pair: str, first: Configuration, second: Configuration) -> Iterator[str]:
    """Yield a message if one tenant's client certificates would be valid for another tenant."""
    for mine in _authorities_of(first):
        for theirs in _authorities_of(second):
            if mine == theirs or not certificates_in(mine).isdisjoint(certificates_in(theirs)):
                yield (
                    f"another authority in `tls.ca` of the listeners of one of {pair}, created "
                    f"with oncegate tls init: both would accept certificates issued by {mine}"
                )
                return


def _authorities_of(configuration: Configuration) -> list[Path]:
    """Return the CA files that a configuration uses to verify client certificates."""
    authorities = [each.tls.ca for each in configuration.listeners if each.tls is not None]
    return [ca for ca in authorities if ca is not None]


def _common_session_upstream(
    pair: str, first: Configuration, second: Configuration
) -> Iterator[str]:
    """Yield a message if two uplinks would use the same session at the upstream broker."""
    mine, theirs = first.uplink, second.uplink
    if mine.address is None or mine.address != theirs.address or mine.client_id is None:
        return
    if mine.client_id == theirs.client_id:
        yield f"another client_id in [uplink] for one of {pair}: both are {mine.client_id!r} there"


def _words_of(tenant: str) -> str:
    return f"tenant {tenant}" if tenant else "the top level"


def _within(one: str, other: str) -> bool:
    """Return True if two folder URLs are equal, or if one folder is inside the other."""
    first, second = one.rstrip("/") + "/", other.rstrip("/") + "/"
    return first.startswith(second) or second.startswith(first)
