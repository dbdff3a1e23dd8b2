"""The broker's composition root: configuration in, a running broker, an orderly end."""

import asyncio
import logging
import secrets
import signal
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from gateway.access.authentication import Authenticator
from gateway.access.decoys import load_key
from gateway.access.passwords import PasswordFile, PasswordFileError
from gateway.configuration import Configuration, ConfigurationError, gateway_id
from gateway.core.broker import Broker
from gateway.core.limits import Limits
from gateway.core.records.kinds import Observation, StartKind
from gateway.core.records.recorder import Recorder
from gateway.hooks.dispatch import Hooks
from gateway.server import garbage
from gateway.server.allocator import return_large_blocks
from gateway.server.control import Control
from gateway.server.housekeeping import Housekeeping
from gateway.server.listening import Listening
from gateway.server.reloading import apply_limits, changes_between, space_limits_of
from gateway.server.session_totals import SessionTotals
from gateway.server.shell import TICK_SECONDS, Shell
from gateway.server.status import Identity, status_of
from gateway.server.system_topics import SystemTopics
from gateway.service import Service
from gateway.space.inventory import disk_of
from gateway.store.journal import FILE_BYTES
from gateway.store.store import Opened, Store

logger = logging.getLogger(__name__)

JOURNAL_FILES = 8
"""At least so many files of the journal are within `max_journal`."""

Reload = Callable[[], Configuration]


async def serve(
    configuration: Configuration,
    stop: asyncio.Event,
    ready: Callable[[], None] | None = None,
    reload: Reload | None = None,
) -> None:
    """Run the broker until `stop` is set.

    Raises:
        DataDirectoryInUse: another broker has the data directory.
        PasswordFileError: the password file cannot be used.
        StoreFailed: a commit failed; nothing untrue has been said.
        OSError: an address cannot be listened on.
    """
    running = await Running.start(configuration, stop, reload)
    try:
        if ready is not None:
            ready()
        await running.until(stop)
    finally:
        await running.stop()
    if running.shell.committer.failure is not None:
        raise running.shell.committer.failure


class Running:
    """A broker that runs."""

    def __init__(
        self, configuration: Configuration, shell: Shell, identity: Identity, reload: Reload | None
    ) -> None:
        self.configuration = configuration
        self.shell = shell
        self.identity = identity
        self.service = Service()
        self.listening = Listening(shell)
        self.state = "starting"
        self.control = Control(shell, self.status_by_slices, self.reload)
        self.housekeeping: Housekeeping | None = None
        self._password_path = configuration.access.password_file
        self._read_configuration = reload

    @classmethod
    async def start(
        cls, configuration: Configuration, stop: asyncio.Event, reload: Reload | None
    ) -> "Running":
        """Recover the store, take up what the last run left, listen."""
        return_large_blocks()
        loop = asyncio.get_running_loop()
        users = _users_of(configuration)
        data_dir = configuration.gateway.data_dir
        # Beyond max_journal whole files are dropped: no file may be a large part of it.
        limit = configuration.limits.max_journal // JOURNAL_FILES
        store = Store(data_dir, min(FILE_BYTES, limit))
        space = space_limits_of(configuration)
        store.wal_room_bytes = space.of_disk(disk_of(data_dir).total_bytes).reserve
        with garbage.ignored():
            opened = store.open(list(configuration.session_log.payload_topics), loop.time())
        boot = secrets.token_bytes(8)
        authenticator = Authenticator(users, load_key(data_dir))
        broker = _broker_of(configuration, opened, boot, authenticator)
        shell = Shell(broker, store, opened.recovered, configuration.limits, authenticator)
        identity = Identity(
            gateway_id(configuration),
            boot.hex(),
            version("oncegate"),
            opened.recovery.word,
            "; ".join(opened.damage) or None,
        )
        running = cls(configuration, shell, identity, reload)
        running._let_others_watch()
        running.housekeeping = Housekeeping(shell, data_dir, space)
        shell.housekeeping = running.housekeeping
        loop.set_exception_handler(running.end_on_mistake)
        _tell_recovery(opened)
        for damage in opened.damage:
            broker.recorder.observed(None, Observation.STORE_DAMAGED, "", damage)
        broker.start(
            opened.recovery,
            identity.version,
            opened.recovered.previous_boot,
            loop.time(),
            *shell.wall_clock.read(),
        )
        _tell_clock(shell)
        shell.schedule()
        try:
            await running._listen()
        except OSError:
            await running.stop()
            raise
        if reload is not None:
            loop.add_signal_handler(signal.SIGHUP, running.reload_on_signal)
        garbage.watch()
        running.state = "running"
        running.service.ready()
        return running

    def _let_others_watch(self) -> None:
        shell = self.shell
        shell.system_topics = SystemTopics(shell.broker, self.identity.version, shell.schedule)
        shell.system_topics.set_interval(self.configuration.mqtt.sys_interval)
        module = self.configuration.hooks.module
        if module is not None:
            shell.hooks = Hooks(module, shell.broker)
            shell.hooks.start()

    async def _listen(self) -> None:
        await self.control.start(self.configuration.gateway)
        for listener in self.configuration.listeners:
            await self.listening.open(listener)

    async def until(self, stop: asyncio.Event) -> None:
        """Tick until asked to stop or until the store fails."""
        loop = asyncio.get_running_loop()
        ends = [
            loop.create_task(stop.wait()),
            loop.create_task(self.shell.failed.wait()),
        ]
        period = TICK_SECONDS
        if self.service.watchdog_seconds is not None:
            period = min(period, self.service.watchdog_seconds / 3)
        while not any(end.done() for end in ends):
            self.shell.tick()
            self._feed_watchdog()
            await asyncio.wait(ends, timeout=period, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()

    def _feed_watchdog(self) -> None:
        limit = self.service.watchdog_seconds
        if limit is not None and self.shell.committer.stalled_seconds() < limit:
            self.service.alive()
        statistics = self.shell.broker.statistics
        self.service.status(
            f"{statistics.connections_open} connections, "
            f"{len(self.shell.broker.state.sessions)} sessions"
        )

    def status(self) -> dict[str, Any]:
        """Return the status, counted in one go."""
        totals = SessionTotals(self.shell.broker.state)
        while not totals.advance():
            pass
        return self._status_of(totals)

    async def status_by_slices(self) -> dict[str, Any]:
        """Return the status for the control socket; others have their turns meanwhile."""
        totals = SessionTotals(self.shell.broker.state)
        while not totals.advance():  # noqa: ASYNC110 - it counts; there is nothing to wait for
            await asyncio.sleep(0)
        return self._status_of(totals)

    def _status_of(self, totals: SessionTotals) -> dict[str, Any]:
        return status_of(self.shell, self.identity, self.listening.shown, self.state, totals)

    def reload(self) -> dict[str, Any]:
        """Read configuration and users again: limits and users change at once, the rest at the
        next start.

        Raises:
            ConfigurationError, PasswordFileError: everything stays as it was.
        """
        if self._read_configuration is None:
            return {"changed": [], "needs_restart": []}
        self.service.reloading()
        try:
            configuration = self._read_configuration()
            # Of the running broker: another file is taken with the next start, as the key says.
            path = self._password_path
            users = None if path is None else PasswordFile.load(path)
        finally:
            self.service.ready()
        changed, needs_restart = changes_between(self.configuration, configuration)
        apply_limits(self.shell.broker.limits, configuration)
        self.shell.limits_changed()
        if users is not None and self.shell.authentications.replace_users(users):
            changed.append("access.password_file")
        if self.shell.system_topics is not None:
            self.shell.system_topics.set_interval(configuration.mqtt.sys_interval)
        self.shell.batch_limits = configuration.limits
        self.shell.committer.limits = configuration.limits
        if self.housekeeping is not None:
            self.housekeeping.limits = space_limits_of(configuration)
        self.configuration = configuration
        logger.info(
            "configuration read again; changed: %s; at the next start: %s",
            ", ".join(changed) or "nothing",
            ", ".join(needs_restart) or "nothing",
        )
        return {"changed": changed, "needs_restart": needs_restart}

    def end_on_mistake(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An exception left one of the loop's callbacks.

        The network's own errors end a connection. Anything else there is ours: going on would mean
        acknowledging what a restart does not find.
        """
        loop.default_exception_handler(context)
        error = context.get("exception")
        ours = "handle" in context or "protocol" in context
        if ours and error is not None and not isinstance(error, OSError):
            self.shell.committer.halt(error)

    def reload_on_signal(self) -> None:
        """SIGHUP: as `reload`; a mistake in the file leaves everything as it was."""
        try:
            self.reload()
        except (ConfigurationError, PasswordFileError) as error:
            logger.error("the configuration stays as it was: %s", error)

    async def stop(self) -> None:
        """Stop accepting, end connections, write everything down."""
        self.state = "stopping"
        self.service.stopping()
        self.listening.close()
        await self.control.stop()
        if self.shell.system_topics is not None:
            self.shell.system_topics.stop()
        if self.housekeeping is not None:
            await self.housekeeping.stop()
        await self.shell.stop()
        if self.shell.hooks is not None:
            await self.shell.hooks.stop()
        logger.info("stopped")


def _users_of(configuration: Configuration) -> PasswordFile | None:
    path = configuration.access.password_file
    return None if path is None else PasswordFile.load(path)


def _broker_of(
    configuration: Configuration, opened: Opened, boot: bytes, authenticator: Authenticator
) -> Broker:
    limits = Limits()
    apply_limits(limits, configuration)
    recovered = opened.recovered
    recorder = Recorder(
        recovered.state, opened.store, boot, recovered.next_batch, recovered.next_sequence
    )
    return Broker(recovered.state, recorder, limits, authenticator.has_users, authenticator.methods)


def _tell_clock(shell: Shell) -> None:
    quality = shell.wall_clock.quality.word
    if quality != "synchronised":
        logger.warning(
            "the clock is %s: times that are written down are at least the last one known; "
            "durations do not depend on it",
            quality,
        )


def _tell_recovery(opened: Opened) -> None:
    for damage in opened.damage:
        logger.error("%s", damage)
    if opened.damage:
        logger.error(
            "what can be read is kept; `oncegate audit` tells what is missing. A card that loses "
            "what it had should be replaced"
        )
    recovered = opened.recovered
    if opened.recovery is StartKind.UNCLEAN:
        logger.warning(
            "the last run did not stop cleanly; %d facts replayed from the journal",
            recovered.facts_applied,
        )
    logger.info(
        "%d sessions, %d retained messages, session log at %d",
        len(recovered.state.sessions),
        len(recovered.state.retained),
        recovered.next_sequence,
    )
