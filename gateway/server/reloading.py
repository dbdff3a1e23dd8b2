"""The configuration and the users are read again: what changes immediately, what with a restart."""

import logging
from collections.abc import Callable
from typing import Any

from gateway.access.passwords import PasswordFile, PasswordFileError
from gateway.configuration import Configuration, ConfigurationError
from gateway.keys.section import keys_of
from gateway.server.event_loop.event_loop import EventLoop
from gateway.server.housekeeping import Housekeeping
from gateway.server.limits import apply_limits, space_limits_of
from gateway.server.status.system_topics import SystemTopics
from gateway.service import Service

logger = logging.getLogger(__name__)

APPLIED_IMMEDIATELY = ("mqtt", "limits", "disk")
"""Sections whose keys take effect while the broker runs."""

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
    ) -> None:
        self.configuration = configuration
        """What holds now."""
        self._password_path = configuration.access.password_file
        self._read = read
        self._service = service
        self._event_loop = event_loop
        self._system_topics = system_topics
        self._housekeeping = housekeeping

    def reload(self) -> dict[str, Any]:
        """Read configuration and users again: limits and users change immediately, the rest at the
        next start.

        Raises:
            ConfigurationError, PasswordFileError: everything stays as it was.
        """
        if self._read is None:
            return {"changed": [], "needs_restart": []}
        self._service.reloading()
        try:
            configuration = self._read()
            # Of the running broker: another file is taken with the next start.
            path = self._password_path
            users = None if path is None else PasswordFile.load(path)
        finally:
            self._service.ready()
        changed, needs_restart = changes_between(self.configuration, configuration)
        apply_limits(self._event_loop.broker.limits, configuration)
        self._event_loop.limits_changed(configuration.limits)
        if users is not None and self._event_loop.authentications.replace_users(users):
            changed.append("access.password_file")
        self._system_topics.set_interval(configuration.mqtt.sys_interval)
        self._housekeeping.limits = space_limits_of(configuration)
        self.configuration = configuration
        logger.info(
            "configuration read again; changed: %s; at the next start: %s",
            ", ".join(changed) or "nothing",
            ", ".join(needs_restart) or "nothing",
        )
        return {"changed": changed, "needs_restart": needs_restart}

    def reload_on_signal(self) -> None:
        """Reload at SIGHUP as `reload`; a mistake in the file leaves everything as it was."""
        try:
            self.reload()
        except (ConfigurationError, PasswordFileError) as error:
            logger.error("the configuration stays as it was: %s", error)


def changes_between(before: Configuration, after: Configuration) -> tuple[list[str], list[str]]:
    """Return the keys that changed and take effect now, and those that need a restart."""
    changed: list[str] = []
    needs_restart: list[str] = []
    for name in keys_of(Configuration):
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            continue
        if name in APPLIED_IMMEDIATELY:
            keys = keys_of(type(old))
            changed += [f"{name}.{key}" for key in keys if getattr(old, key) != getattr(new, key)]
        else:
            needs_restart.append(name)
    return changed, needs_restart
