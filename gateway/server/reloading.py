"""The configuration, users and access rules are read again: what changes immediately, what with a
restart."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gateway.access.errors import AccessFileError
from gateway.access.passwords import PasswordFile
from gateway.access.rules import FileRules
from gateway.configuration import Configuration, ConfigurationError
from gateway.keys.section import keys_of
from gateway.server.bans import Bans
from gateway.server.event_loop.event_loop import EventLoop
from gateway.server.housekeeping import Housekeeping
from gateway.server.limits import apply_limits, space_limits_of
from gateway.server.listeners.address_limits import address_settings_of
from gateway.server.listeners.listening import Listening
from gateway.server.quotas import quotas_at_reload
from gateway.server.rights import rules_of, users_known
from gateway.server.status.system_topics import SystemTopics
from gateway.service import Service

logger = logging.getLogger(__name__)

APPLIED_IMMEDIATELY = ("mqtt", "queues", "quotas", "user_quotas", "flapping", "limits", "disk")
"""Sections whose keys take effect while the broker runs."""
RULES_KEY = "rules_file"
"""The key of [access] that does; the other names a file that is read again."""

ReadConfiguration = Callable[[], Configuration]


class Reloading:
    """Replaces the configuration of a broker that runs."""

    def __init__(
        self,
        configuration: Configuration,
        read: ReadConfiguration | None,
        service: Service,
        event_loop: EventLoop,
        system_topics: SystemTopics,
        housekeeping: Housekeeping,
        listening: Listening,
        bans: Bans,
        rules: FileRules | None = None,
    ) -> None:
        self.configuration = configuration
        """What holds now."""
        self._started = configuration
        """What the listeners, the users' file and the bridge are until the next start."""
        self.rules = rules
        """The access rules that hold; None: everything is allowed."""
        self._read = read
        self._service = service
        self._event_loop = event_loop
        self._system_topics = system_topics
        self._housekeeping = housekeeping
        self._bans = bans
        self._addresses = listening.addresses
        self._certificates = listening.certificates

    def reload(self) -> dict[str, Any]:
        """Read configuration, users, rules and certificates again: they and limits change
        immediately, the rest at the next start.

        Raises:
            ConfigurationError, AccessFileError: everything stays as it was.
        """
        if self._read is None:
            return {"changed": [], "needs_restart": []}
        self._service.reloading()
        try:
            configuration = self._read()
            # Of the running broker: another file is taken with the next start.
            path = self._started.access.password_file
            users = None if path is None else PasswordFile.load(path)
            access = replace(self._started.access, rules_file=configuration.access.rules_file)
            rules = rules_of(replace(self._started, access=access))
            certificates = self._certificates.candidates()
        finally:
            self._service.ready()
        changed, needs_restart = changes_between(self.configuration, configuration)
        apply_limits(self._event_loop.broker.limits, configuration)
        self._event_loop.broker.limits.quotas = quotas_at_reload(self._started, configuration)
        self._event_loop.limits_changed(configuration.limits)
        now = asyncio.get_running_loop().time()
        if configuration.flapping != self.configuration.flapping:
            self._bans.set_flapping(configuration.flapping)
        self._addresses.replace_settings(address_settings_of(configuration), now)
        changed += self._apply_rights(users, rules)
        if self._certificates.use(certificates):
            changed.append("listeners.tls")
        self._system_topics.set_interval(configuration.mqtt.sys_interval)
        self._housekeeping.limits = space_limits_of(configuration)
        self.configuration = configuration
        logger.info(
            "configuration read again; changed: %s; at the next start: %s",
            ", ".join(changed) or "nothing",
            ", ".join(needs_restart) or "nothing",
        )
        return {"changed": changed, "needs_restart": needs_restart}

    def _apply_rights(self, users: PasswordFile | None, rules: FileRules | None) -> list[str]:
        """Let other users and rules hold for what there is; return the keys that changed."""
        changed: list[str] = []
        revoked: frozenset[str] | None = None
        if users is not None:
            revoked = self._event_loop.authentications.replace_users(users)
        if revoked is not None:
            changed.append("access.password_file")
            self._event_loop.broker.know_users(users_known(self._started, users))
        if _text_of(rules) != _text_of(self.rules):
            changed.append(f"access.{RULES_KEY}")
            self.rules = rules
            self._event_loop.broker.restrict(rules)
        if changed:
            now = asyncio.get_running_loop().time()
            ended = self._event_loop.broker.enforce(revoked or frozenset(), now)
            logger.info("access has changed: %d connections ended", ended)
            self._event_loop.schedule()
        return changed

    def reload_on_signal(self) -> None:
        """Reload at SIGHUP as `reload`; a mistake in the file leaves everything as it was."""
        try:
            self.reload()
        except (ConfigurationError, AccessFileError) as error:
            logger.error("the configuration stays as it was: %s", error)


def changes_between(before: Configuration, after: Configuration) -> tuple[list[str], list[str]]:
    """Return the keys that changed and take effect now, and those that need a restart."""
    changed: list[str] = []
    needs_restart: list[str] = []
    for name in keys_of(Configuration):
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            continue
        if isinstance(old, tuple) and name in APPLIED_IMMEDIATELY:
            changed.append(name)
        elif name in APPLIED_IMMEDIATELY:
            keys = keys_of(type(old))
            changed += [f"{name}.{key}" for key in keys if getattr(old, key) != getattr(new, key)]
        elif name != "access" or replace(old, rules_file=None) != replace(new, rules_file=None):
            needs_restart.append(name)
    return changed, needs_restart


def _text_of(rules: FileRules | None) -> str | None:
    return None if rules is None else rules.file.text
