"""Tenants: isolated projects on one gateway, each configured in tables `[tenants.NAME]`.

Each tenant has a complete configuration. Limits that a tenant does not set are inherited from the
top level, key by key. Settings that would make a tenant reachable through another tenant are not
inherited. These are listeners, users, hooks, upload targets and the page
(docs/decisions/0099-*.md).
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway.configuration.problems import ConfigurationError, Location, shown, suggestion

OWN: Final = ("listeners", "access", "hooks", "upload", "uplink", "api")
"""Sections that are never inherited from the top level."""
INHERITED: Final = (
    *("mqtt", "queues", "quotas", "user_quotas", "flapping", "limits", "disk", "session_log"),
)
"""Sections inherited from the top level: a list as a whole, a table key by key."""
GATEWAY_SECTIONS: Final = ("gateway", "bridge", "serial", "console")
"""Sections that are allowed only at the top level."""

NAME_PATTERN: Final = r"[a-z0-9-]{1,32}"
NAME_ALLOWED: Final = "1 to 32 of a-z, 0-9 and -"
TENANTS_MAX: Final = 64
"""Maximum number of tenants: each takes at least two processes and 47 MB (docs/tenants.md)."""

DIRECTORY: Final = "tenants"
"""Folder with one folder per tenant, in the data directory and in the control sockets'
directory."""

_NAME = re.compile(NAME_PATTERN, re.ASCII)
_SECTION = re.compile(rf"(\[{{1,2}})({'|'.join((*OWN, *INHERITED))})(?=[\].])")

SourceOf = Callable[[Location], str]


def tenants_in(written: object, source_of: SourceOf) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the tables of all tenants, keyed by name, and messages about invalid tenants."""
    if not isinstance(written, Mapping):
        what = f"{source_of(('tenants',))}: [tenants] = {shown(written)} is not allowed"
        return {}, [f"{what}: use a table for each tenant, like [[tenants.acme.listeners]]"]
    found: dict[str, dict[str, Any]] = {}
    problems = []
    if len(written) > TENANTS_MAX:
        problems.append(
            f"{source_of(('tenants',))}: {len(written)} tenants are not allowed: "
            f"use at most {TENANTS_MAX}"
        )
    for name, tables in written.items():
        source = source_of(("tenants", name))
        if not _NAME.fullmatch(name):
            problems.append(
                f"{source}: [tenants.{shown(name)}] is not a valid name: use {NAME_ALLOWED}"
            )
        elif not isinstance(tables, Mapping):
            problems.append(
                f"{source}: [tenants.{name}] = {shown(tables)} is not allowed: use a table"
            )
        else:
            mine = [_refusal_of(name, section) for section in tables if _is_foreign(section)]
            problems += [f"{source}: {line}" for line in mine]
            found[name] = {key: table for key, table in tables.items() if not _is_foreign(key)}
    return found, problems


def tables_of(
    own: Mapping[str, Any], around: Mapping[str, Any], *, data_dir: str, control_dir: str | None
) -> dict[str, Any]:
    """Return the complete configuration tables of a tenant, including inherited limits.

    The result has the same structure as a configuration file of a gateway without tenants.

    Args:
        own: the tenant's tables.
        around: the tables at the top level, from which limits are inherited.
        data_dir: the tenant's data directory.
        control_dir: directory of the tenant's control sockets, or None to use `data_dir`.
    """
    made: dict[str, Any] = {}
    for section in INHERITED:
        above, mine = around.get(section), own.get(section)
        if isinstance(above, Mapping) and isinstance(mine, Mapping | None):
            made[section] = {**above, **(mine or {})}
        elif mine is None and above is not None:
            made[section] = above
    # The id and the groups of the sockets belong to the machine and are the same for all tenants.
    gateway = {**around.get("gateway", {}), "data_dir": data_dir}
    if control_dir is not None:
        gateway["control_dir"] = control_dir
    return {**own, **made, "gateway": gateway}


def in_tables_of(tenant: str, problems: list[str]) -> list[str]:
    """Rewrite section names in messages: for example, `[mqtt]` becomes `[tenants.NAME.mqtt]`."""
    return [_SECTION.sub(rf"\1tenants.{tenant}.\2", line) for line in problems]


def refuse_unknown(tenants: Mapping[str, object], name: str) -> None:
    """Raise ConfigurationError if there is no tenant with this name."""
    if name in tenants:
        return
    if not tenants:
        raise ConfigurationError([f"there is no tenant {shown(name)}: no [tenants.NAME] is given"])
    raise ConfigurationError([f"there is no tenant {shown(name)}: {suggestion(name, tenants)}"])


def _is_foreign(section: str) -> bool:
    return section not in (*OWN, *INHERITED)


def _refusal_of(tenant: str, section: str) -> str:
    if section in GATEWAY_SECTIONS:
        return (
            f"[tenants.{tenant}.{section}] is not allowed: use [{section}] at the top level, "
            "once for the whole gateway"
        )
    known = suggestion(section, (*OWN, *INHERITED))
    return f"[tenants.{tenant}.{section}] is not a section of a tenant: {known}"
