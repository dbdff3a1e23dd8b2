"""Reloads the configuration, users and access rules while the broker runs.

Everything that can fail comes first: reading and checking the files, and binding the listeners.
Applying the changes comes last and cannot fail. Changed settings that take effect only after a
restart are reported.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.broker.access.authentication import Authenticator
from gateway.broker.access.errors import AccessFileError
from gateway.broker.access.passwords.file import PasswordFile
from gateway.broker.access.rules.evaluation import FileRules
from gateway.broker.server.bans import Bans
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.broker.server.housekeeping import Housekeeping
from gateway.broker.server.limits import apply_limits, space_limits_of
from gateway.broker.server.listeners.address_limits import address_settings_of
from gateway.broker.server.listeners.listening import Change, OpenListeners
from gateway.broker.server.quotas import ConfiguredQuotas, quotas_of
from gateway.broker.server.removed_users import RemovedUsers
from gateway.broker.server.rights import former_bridges, rules_of
from gateway.broker.server.source_files import SourceFiles, source_files_of, takes_keys_away
from gateway.broker.server.starting import (
    authenticator_of,
    give_bridge_its_sessions,
    other_sources_of,
    users_of,
)
from gateway.broker.server.status.system_topics import SystemTopics
from gateway.configuration import Configuration, ConfigurationError
from gateway.configuration.effects import Changes, changes_between, in_force
from gateway.process.service import Service

logger = logging.getLogger(__name__)

ReadConfiguration = Callable[[], Configuration]


@dataclass(frozen=True)
class Prepared:
    """The validated configuration and files of a reload, which have not been applied yet."""

    configuration: Configuration
    """The new configuration, in which settings that need a restart still have their old values."""
    changes: Changes
    users: PasswordFile | None
    authenticator: Authenticator | None
    """An authenticator for the changed user sources, or None if the sources are unchanged."""
    source_files: SourceFiles
    rules: FileRules | None
    quotas: ConfiguredQuotas
    listeners: Change


@dataclass(frozen=True)
class Parts:
    """The parts of the running broker that a reload changes."""

    service: Service
    event_loop: EventLoop
    system_topics: SystemTopics
    housekeeping: Housekeeping
    listening: OpenListeners
    bans: Bans
    removed_users: RemovedUsers


class Reloader:
    """Reloader of a running broker's configuration."""

    def __init__(
        self,
        configuration: Configuration,
        read: ReadConfiguration | None,
        parts: Parts,
        source_files: SourceFiles,
        rules: FileRules | None = None,
    ) -> None:
        self.configuration = configuration
        """The configuration that the broker uses now."""
        self.needs_restart: tuple[str, ...] = ()
        """Configuration keys whose values in the last reload take effect only after a restart."""
        self.note_signal: Callable[[str | None], None] = lambda _: None
        """Called after a reload by SIGHUP with the error message, or with None if the reload
        succeeded."""
        self.reloaded: Callable[[], None] = lambda: None
        """Called after a successful reload."""
        self.rules = rules
        """The current access rules, or None if everything is allowed."""
        self._read = read
        self._parts = parts
        self._former = former_bridges(configuration, ())
        self._source_files = source_files
        """Digests of the files from which the current user sources were created."""

    def reload(self) -> dict[str, Any]:
        """Read the configuration, users, rules and certificates again, and apply the changes.

        Returns:
            The changed keys and the keys that need a restart, as described in
            docs/formats/control-socket.md.

        Raises:
            ConfigurationError, AccessFileError: a file is invalid. Nothing has changed.
        """
        if self._read is None:
            return _answer_of(Changes((), (), {}, ()), [], 0)
        self._parts.service.reloading()
        try:
            prepared = self._prepared(self._read())
        finally:
            self._parts.service.ready()
        contents, ended = self._apply(prepared)
        self.needs_restart = prepared.changes.needs_restart
        answer = _answer_of(prepared.changes, contents, ended)
        _log(answer)
        self.reloaded()
        return answer

    def _prepared(self, wanted: Configuration) -> Prepared:
        """Check the configuration `wanted` and its files, and bind new listeners. Apply nothing.

        Raises ConfigurationError or AccessFileError if a file is invalid or an address cannot be
        bound.
        """
        configuration = in_force(self.configuration, wanted)
        changes = changes_between(self.configuration, wanted)
        users = users_of(configuration)
        source_files = source_files_of(configuration)
        authenticator = self._authenticator_of(configuration, users, source_files)
        rules = rules_of(configuration, self._former)
        try:
            quotas = quotas_of(configuration)
            # Last, so that no bound socket has to be closed because of another error.
            listeners = self._parts.listening.prepare(configuration.listeners)
        except OSError as error:
            where = "" if error.filename is None else f" at {error.filename}"
            raise ConfigurationError([f"[[listeners]]{where}: {error.strerror}"]) from error
        return Prepared(
            *(configuration, changes, users, authenticator, source_files),
            *(rules, quotas, listeners),
        )

    def _authenticator_of(
        self, configuration: Configuration, users: PasswordFile | None, source_files: SourceFiles
    ) -> Authenticator | None:
        """Return a new authenticator if a user source has changed, otherwise None.

        A user source whose settings and files are unchanged is reused together with its cache.
        """
        before, after = self.configuration.access, configuration.access
        other = self._with_other_files(source_files) | {
            name for name in ("jwt", "mysql") if getattr(before, name) != getattr(after, name)
        }
        if before.sources == after.sources and not other:
            return None
        sources = self._parts.event_loop.authentications.sources
        kept = {name: source for name, source in sources.items() if name not in other}
        try:
            others = other_sources_of(configuration, kept)
        except ModuleNotFoundError as error:
            fix = (
                f"the Python package {error.name} is missing: install the wheel file with its "
                "extra, './oncegate-VERSION-PLATFORM.whl[all]' (docs/install.md)"
            )
            raise ConfigurationError([f"[access]: {fix}"]) from None
        checks = self._parts.event_loop.authentications.checks
        return authenticator_of(configuration, users, others, checks)

    def _with_other_files(self, source_files: SourceFiles) -> set[str]:
        """Return the names of the user sources whose files have changed since the last load."""
        before = self._source_files
        names = {*before, *source_files}
        return {name for name in names if before.get(name) != source_files.get(name)}

    def _apply(self, prepared: Prepared) -> tuple[list[str], int]:
        """Apply the prepared changes.

        Return the configuration keys of files whose contents changed, and the number of closed
        connections.
        """
        configuration, event_loop = prepared.configuration, self._parts.event_loop
        before, self.configuration = self.configuration, configuration
        self._former = former_bridges(configuration, self._former)
        now = asyncio.get_running_loop().time()
        apply_limits(event_loop.broker.limits, configuration)
        event_loop.broker.limits.quotas = prepared.quotas
        ended = self._parts.listening.apply(prepared.listeners)
        contents, revoked = self._apply_rights(before, prepared)
        event_loop.limits_changed(configuration.limits)
        if configuration.flapping != before.flapping:
            self._parts.bans.set_flapping(configuration.flapping)
        if configuration.session_log.payload_topics != before.session_log.payload_topics:
            event_loop.broker.state.tree.log_topics(list(configuration.session_log.payload_topics))
        self._parts.listening.addresses.replace_settings(address_settings_of(configuration), now)
        self._parts.system_topics.set_interval(configuration.mqtt.sys_interval)
        self._parts.housekeeping.limits = space_limits_of(configuration)
        if self._parts.listening.certificates_differ:
            contents.append("listeners.tls")
        event_loop.schedule()
        return contents, ended + revoked

    def _apply_rights(self, before: Configuration, prepared: Prepared) -> tuple[list[str], int]:
        """Apply changed users and access rules to existing sessions and connections.

        Return the configuration keys of changed files, and the number of closed connections.
        """
        broker, configuration = self._parts.event_loop.broker, prepared.configuration
        contents = [
            f"access.{name}" for name in sorted(self._with_other_files(prepared.source_files))
        ]
        revoked = self._apply_sources(before, prepared)
        if prepared.users is not None:
            changed = self._parts.event_loop.authentications.replace_users(prepared.users)
            if changed is not None:
                contents.append("access.password_file")
                revoked |= changed
        rules_differ = _text_of(prepared.rules) != _text_of(self.rules)
        if rules_differ:
            contents.append("access.rules_file")
            self.rules = prepared.rules
            broker.restrict(prepared.rules)
        self._parts.removed_users.take(configuration, prepared.users)
        if not (contents or revoked):
            return [], 0
        ended = broker.enforce(revoked, asyncio.get_running_loop().time())
        logger.info("access has changed; connections ended: %d", ended)
        return contents, ended

    def _apply_sources(self, before: Configuration, prepared: Prepared) -> frozenset[str]:
        """Replace the user sources. Return the names of the users who have to log in again."""
        event_loop, broker = self._parts.event_loop, self._parts.event_loop.broker
        access, files = prepared.configuration.access, prepared.source_files
        proofs_hold = not takes_keys_away(self._source_files, files) and all(
            getattr(before.access, key) == getattr(access, key)
            for key in ("sources", "jwt", "mysql")
        )
        self._source_files = files
        authenticates = prepared.configuration.authenticates
        authenticator = prepared.authenticator
        if authenticator is None and authenticates == before.authenticates:
            return frozenset()
        if authenticator is not None:
            event_loop.authentications.replace(authenticator)
        broker.authenticate(authenticates, event_loop.authentications.methods)
        give_bridge_its_sessions(broker, prepared.configuration)
        if proofs_hold and authenticates == before.authenticates:
            return frozenset()  # the same users with the same proofs
        # They were authenticated by another source, or never.
        names = (
            connection.username
            for connection in event_loop.channels
            if connection.proven_user is None
        )
        return frozenset(name for name in names if name is not None)

    def reload_on_signal(self) -> None:
        """Reload the configuration on SIGHUP. If a file is invalid, only log an error."""
        problem = None
        try:
            self.reload()
        except (ConfigurationError, AccessFileError) as error:
            problem = str(error)
            logger.error("the configuration stays as it was: %s", error)
        self.note_signal(problem)


def _answer_of(changes: Changes, contents: list[str], ended: int) -> dict[str, Any]:
    return {
        "changed": [*changes.taken, *(key for key in contents if key not in changes.taken)],
        "new_connections": list(changes.new_connections),
        "processes": {process: list(keys) for process, keys in changes.processes.items()},
        "needs_restart": list(changes.needs_restart),
        "connections_ended": ended,
    }


def _log(answer: dict[str, Any]) -> None:
    logger.info(
        "configuration read again; changes in force: %s; connections ended: %d",
        ", ".join(answer["changed"]) or "none",
        answer["connections_ended"],
    )
    for process, keys in answer["processes"].items():
        logger.warning(
            "these keys wait for a restart of `oncegate %s`: %s", process, ", ".join(keys)
        )
    if answer["needs_restart"]:
        waiting = ", ".join(answer["needs_restart"])
        logger.warning("these keys wait for a restart of the gateway: %s", waiting)


def _text_of(rules: FileRules | None) -> str | None:
    return None if rules is None else rules.file.text
