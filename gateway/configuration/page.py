"""Settings of the status page and the REST interface (`[api]`): their address and their users."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gateway.configuration.addresses import BindAddress, FilePath, HostName, is_loopback
from gateway.configuration.tls import PageTls
from gateway.process.declarations.quantities import Items, Text, Whole, refusal
from gateway.process.declarations.section import Section

ROLES = ("viewer", "operator", "administrator")
"""Roles of users. Each role includes the rights of the earlier ones."""

_UserName = Annotated[
    str, Text(r"[^\x00-\x1f\x7f]{1,1024}", "the name of a user of a source in [access]")
]
_UserNames = Annotated[tuple[_UserName, ...], Items()]
_GroupName = Annotated[str, Text(r"[^\x00-\x20\x7f]{1,256}", "the name of a group, without spaces")]
_GroupNames = Annotated[tuple[_GroupName, ...], Items()]
_NamesByRole = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
_LOOPBACK = {4: "127.0.0.1", 6: "::1"}
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104


@dataclass(frozen=True, kw_only=True)
class Api(Section):
    """The status page and the REST interface."""

    bind: Annotated[str, BindAddress()] = "127.0.0.1"
    port: Annotated[int, Whole(0, 65535)] = 8080
    hosts: Annotated[tuple[Annotated[str, HostName()], ...], Items()] = ()
    viewers: _UserNames = ()
    operators: _UserNames = ()
    administrators: _UserNames = ()
    viewer_groups: _GroupNames = ()
    operator_groups: _GroupNames = ()
    administrator_groups: _GroupNames = ()
    tokens_file: Annotated[Path, FilePath()] | None = None
    allow_anonymous_network: bool = False
    tls: PageTls | None = None

    def check(self) -> None:
        _refuse_twice((self.viewers, self.operators, self.administrators), "%ss")
        _refuse_twice(self._groups, "%s_groups")
        if self.tokens_file is not None and not self.has_users:
            raise refusal(
                "viewers, operators or administrators, or groups of them, together with tokens_file"
                ": without users the page does not check tokens"
            )
        if self.allow_anonymous_network and self.has_users:
            raise refusal(
                "no allow_anonymous_network together with viewers, operators or "
                "administrators, or groups of them: with users everyone has to log in"
            )

    @property
    def roles(self) -> Mapping[str, str]:
        """The role of each user named in the configuration."""
        return _role_of_each((self.viewers, self.operators, self.administrators))

    @property
    def group_roles(self) -> Mapping[str, str]:
        """The role of each group named in the configuration."""
        return _role_of_each(self._groups)

    @property
    def has_users(self) -> bool:
        """True if the page requires a login because users are configured."""
        return bool(self.roles or self.group_roles)

    @property
    def has_operators(self) -> bool:
        """True if any user or group is allowed to do more than read."""
        return bool(
            self.operators
            or self.administrators
            or self.operator_groups
            or self.administrator_groups
        )

    @property
    def is_reached_from_network(self) -> bool:
        """True if the page can be opened from other machines."""
        return not is_loopback(self.listens_at)

    @property
    def stays_on_loopback(self) -> bool:
        """True if the page listens on loopback although `bind` is another address.

        The reason is that no users are configured, and `allow_anonymous_network` is false.
        """
        return not (is_loopback(self.bind) or self.has_users or self.allow_anonymous_network)

    @property
    def listens_at(self) -> str:
        """Address on which the page listens: `bind`, or loopback if `stays_on_loopback` is True."""
        return self._loopback if self.stays_on_loopback else self.bind

    @property
    def address(self) -> tuple[str, int]:
        """Host and port at which local programs can reach the page."""
        host = self.listens_at
        return (self._loopback if host in _EVERYWHERE else host), self.port

    @property
    def _loopback(self) -> str:
        return _LOOPBACK[6 if ":" in self.bind else 4]

    @property
    def _groups(self) -> _NamesByRole:
        return self.viewer_groups, self.operator_groups, self.administrator_groups


def _role_of_each(names_by_role: _NamesByRole) -> Mapping[str, str]:
    return {name: role for role, names in zip(ROLES, names_by_role, strict=True) for name in names}


def _refuse_twice(names_by_role: _NamesByRole, key: str) -> None:
    names = [name for names in names_by_role for name in names]
    for name in names:
        if names.count(name) > 1:
            first, second, third = (key % role for role in ROLES)
            raise refusal(f'"{name}" only once, in {first}, {second} or {third}')
