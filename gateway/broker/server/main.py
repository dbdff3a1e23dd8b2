"""Composition root of the broker: builds its parts, runs them, and stops them in order."""

import asyncio
import logging
import secrets
import signal
from collections.abc import Callable
from typing import Any

from gateway.broker.access.certificates.listener import CertificateError
from gateway.broker.access.passwords.decoys import load_key
from gateway.broker.access.rules.evaluation import FileRules
from gateway.broker.hooks.dispatch import Hooks
from gateway.broker.server.bans import Bans
from gateway.broker.server.control.requests import Control
from gateway.broker.server.event_loop.event_loop import UPKEEP_SECONDS, EventLoop
from gateway.broker.server.host import garbage, threads
from gateway.broker.server.housekeeping import Housekeeping
from gateway.broker.server.limits import bound_by_files, space_limits_of
from gateway.broker.server.listeners.address_limits import address_settings_of
from gateway.broker.server.listeners.listening import OpenListeners
from gateway.broker.server.listeners.making import revoked_by
from gateway.broker.server.reloading import Parts, ReadConfiguration, Reloader
from gateway.broker.server.removed_users import RemovedUsers
from gateway.broker.server.rights import rules_of
from gateway.broker.server.source_files import SourceFiles, source_files_of
from gateway.broker.server.starting import (
    apply_rules,
    authenticator_of,
    begin_run,
    broker_of,
    give_bridge_its_sessions,
    identity_of,
    opened_of,
    other_sources_of,
    store_of,
    users_of,
)
from gateway.broker.server.status.configuration import shown_configuration
from gateway.broker.server.status.status import Identity, Status
from gateway.broker.server.status.system_topics import SystemTopics
from gateway.broker.server.status.totals import SessionTotals
from gateway.configuration import Configuration
from gateway.process import scheduling
from gateway.process.files import descriptors
from gateway.process.files.disk_errors import line_of
from gateway.process.service import Service

logger = logging.getLogger(__name__)


async def serve(
    configuration: Configuration,
    stop: asyncio.Event,
    ready: Callable[[], None] | None = None,
    reload: ReadConfiguration | None = None,
) -> None:
    """Run the broker until `stop` is set. Call `ready` once the broker accepts clients.

    `reload` reads the configuration again, or is None if the broker cannot be reloaded.

    Raises:
        DataDirectoryInUse: another broker uses the data directory.
        AccessFileError: the users or the access rules cannot be used.
        CertificateError: a listener's certificate cannot be used.
        StoreFailed: a commit failed. Only data on disk has been acknowledged.
        OSError: a listener's address cannot be used.
    """
    try:
        scheduling.take_short_turns()
    except OSError as problem:
        logger.info("the broker keeps the usual CPU time slices: %s", line_of(problem))
    running = await RunningBroker.start(configuration, reload)
    try:
        if ready is not None:
            ready()
        await running.until(stop)
    finally:
        await running.stop()
    if running.event_loop.committer.failure is not None:
        raise running.event_loop.committer.failure


class RunningBroker:
    """The parts of the broker, such as its event loop and listeners. Starts and stops them."""

    def __init__(
        self,
        configuration: Configuration,
        event_loop: EventLoop,
        identity: Identity,
        reload: ReadConfiguration | None,
        rules: FileRules | None,
        source_files: SourceFiles,
    ) -> None:
        self.event_loop = event_loop
        self.service = Service()
        self.listening = OpenListeners(event_loop, address_settings_of(configuration))
        totals = SessionTotals(event_loop.broker.state)
        self.system_topics = SystemTopics(
            event_loop.broker, totals, identity.version, event_loop.schedule
        )
        self.system_topics.set_interval(configuration.mqtt.sys_interval)
        data_dir = configuration.gateway.data_dir
        self.housekeeping = Housekeeping(event_loop, data_dir, space_limits_of(configuration))
        self.status = Status(
            event_loop, totals, identity, self.listening.shown, self.housekeeping.status
        )
        self.bans = Bans(event_loop, self.listening.addresses, configuration)
        self.removed_users = RemovedUsers(data_dir, event_loop.broker)
        event_loop.authentications.user_gone = self.removed_users.add
        event_loop.authentications.user_proven = self.removed_users.note_proof
        self.reloading = Reloader(configuration, reload, self._parts(), source_files, rules)
        self.status.needs_restart = lambda: self.reloading.needs_restart
        current, reload_now = self.status.current, self.reloading.reload
        self.status.bound_by_files = lambda: bound_by_files(self.reloading.configuration)
        known = (event_loop, current, reload_now, load_key(data_dir), self.bans)
        self.control = Control(*known, self.configuration)
        self._connect_control()
        event_loop.answer_system_topics = self.system_topics.answer
        event_loop.check_disk = self.housekeeping.tick

    def _parts(self) -> Parts:
        return Parts(
            service=self.service,
            event_loop=self.event_loop,
            system_topics=self.system_topics,
            housekeeping=self.housekeeping,
            listening=self.listening,
            bans=self.bans,
            removed_users=self.removed_users,
        )

    def _connect_control(self) -> None:
        self.reloading.note_signal = self.control.operations.note_signal
        self.reloading.reloaded = self.control.sensors.reload
        self.status.operations = lambda: self.control.operating.counted

    @classmethod
    async def start(
        cls, configuration: Configuration, reload: ReadConfiguration | None
    ) -> "RunningBroker":
        """Recover the store, restore the state of the last run, and start the broker."""
        loop = asyncio.get_running_loop()
        users, rules = users_of(configuration), rules_of(configuration)
        revoked = revoked_by(configuration.listeners)
        source_files = source_files_of(configuration)
        others = other_sources_of(configuration)
        store = store_of(configuration)
        opened = opened_of(store, configuration)
        boot = secrets.token_bytes(8)
        authenticator = authenticator_of(configuration, users, others)
        broker = broker_of(configuration, opened, boot, authenticator)
        event_loop = EventLoop(broker, store, opened.recovered, configuration.limits, authenticator)
        identity = identity_of(configuration, opened, boot)
        running = cls(configuration, event_loop, identity, reload, rules, source_files)
        if configuration.hooks.module is not None:
            event_loop.hooks = Hooks(configuration.hooks.module, broker)
            event_loop.hooks.start()
        loop.set_exception_handler(running.end_on_mistake)
        apply_rules(broker, rules)
        running.removed_users.take(configuration, users)
        broker.revoke_certificates(revoked)  # before a late will is published
        begin_run(event_loop, opened, identity)
        give_bridge_its_sessions(broker, configuration)
        running.bans.load()
        running.housekeeping.prepare()
        try:
            await running._listen(configuration)
        except (OSError, CertificateError):
            await running.stop()
            raise
        if reload is not None:
            loop.add_signal_handler(signal.SIGHUP, running.reloading.reload_on_signal)
        garbage.watch()
        threads.switch_quickly()
        running.status.state = "running"
        running.service.ready()
        return running

    def configuration(self) -> dict[str, Any]:
        """Return the current configuration as the answer to the command `configuration`."""
        return shown_configuration(self.reloading.configuration, self.reloading.needs_restart)

    async def _listen(self, configuration: Configuration) -> None:
        await self.control.start(configuration)
        await self.listening.start(configuration.listeners)

    async def until(self, stop: asyncio.Event) -> None:
        """Run the periodic work until `stop` is set or the store fails."""
        loop = asyncio.get_running_loop()
        ends = [
            loop.create_task(stop.wait()),
            loop.create_task(self.event_loop.failed.wait()),
        ]
        period = UPKEEP_SECONDS
        if self.service.watchdog_seconds is not None:
            period = min(period, self.service.watchdog_seconds / 3)
        while not any(end.done() for end in ends):
            self.event_loop.upkeep()
            self.bans.tick()
            self.removed_users.tick()
            await self.control.update_operate_socket(self.reloading.configuration)
            self._feed_watchdog()
            await asyncio.wait(ends, timeout=period, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()

    def _feed_watchdog(self) -> None:
        limit = self.service.watchdog_seconds
        event_loop = self.event_loop
        if limit is not None and event_loop.committer.writer.stalled_seconds() < limit:
            self.service.alive()
        self.service.status(
            f"{event_loop.broker.statistics.connections_open} connections, "
            f"{len(event_loop.broker.state.sessions)} sessions"
        )

    def end_on_mistake(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle an exception that was raised in a callback of the event loop.

        A network error ends only one connection, and a lack of file descriptors is only counted.
        Any other exception is a bug. It stops the broker, because a broker in a wrong state could
        acknowledge data that a restart would lose.
        """
        error = context.get("exception")
        if error is not None and descriptors.ran_out(error):
            self.event_loop.broker.statistics.count_error("no_descriptor")
            return  # accept, which asyncio retries a thousand times in a row
        loop.default_exception_handler(context)
        ours = "handle" in context or "protocol" in context
        if ours and error is not None and not isinstance(error, OSError):
            self.event_loop.committer.halt(error)

    async def stop(self) -> None:
        """Stop accepting clients, close all connections, and commit all data."""
        self.status.state = "stopping"
        self.service.stopping()
        self.listening.close()
        await self.control.stop()
        self.system_topics.stop()
        await self.housekeeping.stop()
        await self.bans.stop()
        self.removed_users.stop()
        await self.event_loop.stop()
        if self.event_loop.hooks is not None:
            await self.event_loop.hooks.stop()
        logger.info("stopped")
