"""`[api]`: where the status page and the REST interface are, and who may see them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gateway.configuration.addresses import BindAddress, FilePath, HostName, is_loopback
from gateway.configuration.tls import PageTls
from gateway.keys.quantities import Items, Text, Whole, refusal
from gateway.keys.section import Section

ROLES = ("viewer", "operator", "administrator")
"""Each may do what those before it may."""

_UserName = Annotated[
    str,
    Text(
        r"[^:#\x00-\x1f\x7f][^:\x00-\x1f\x7f]{0,1023}",
        "the name of a user of [access] password_file",
    ),
]
_UserNames = Annotated[tuple[_UserName, ...], Items()]
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
    tokens_file: Annotated[Path, FilePath()] | None = None
    allow_anonymous_network: bool = False
    tls: PageTls | None = None

    def check(self) -> None:
        names = [name for _, named in self._roles_and_names() for name in named]
        for name in names:
            if names.count(name) > 1:
                raise refusal(f'"{name}" in one of viewers, operators and administrators, once')
        if self.tokens_file is not None and not names:
            raise refusal(
                "viewers, operators or administrators beside tokens_file: without users "
                "the page asks for no token"
            )
        if self.allow_anonymous_network and names:
            raise refusal(
                "no allow_anonymous_network beside viewers, operators or "
                "administrators: with users everyone has to log in"
            )

    @property
    def roles(self) -> Mapping[str, str]:
        """The role of each user who may log in; empty: no login is asked for."""
        return {name: role for role, named in self._roles_and_names() for name in named}

    @property
    def is_reached_from_network(self) -> bool:
        """Whether visitors on other machines can open the page."""
        return not is_loopback(self.listens_at)

    @property
    def stays_on_loopback(self) -> bool:
        """Whether `bind` is of the network and the page stays on loopback, for want of users."""
        return not (is_loopback(self.bind) or self.roles or self.allow_anonymous_network)

    @property
    def listens_at(self) -> str:
        """The address at which it listens: `bind`, or loopback for want of users."""
        return self._loopback if self.stays_on_loopback else self.bind

    @property
    def address(self) -> tuple[str, int]:
        """Host and port at which a program on this machine reaches it."""
        host = self.listens_at
        return (self._loopback if host in _EVERYWHERE else host), self.port

    @property
    def _loopback(self) -> str:
        return _LOOPBACK[6 if ":" in self.bind else 4]

    def _roles_and_names(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        return zip(ROLES, (self.viewers, self.operators, self.administrators), strict=True)
