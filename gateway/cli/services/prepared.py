"""Services that are ready to run, after the command line and configuration have been read.

A service is prepared in one process and can run in another, so it must be picklable. This module
does not import Typer or pydantic, which are only needed to prepare a service.
"""

import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firmware_bridge.settings import BridgeSettings

    from api.settings import ApiSettings
    from gateway.cli.services.sensor_files import ConfigurationSource
    from gateway.configuration import Configuration
    from gateway.uplink.settings import UplinkSettings
    from gateway.uploader.settings import SessionLogSettings

logger = logging.getLogger(__name__)

SERVICES = frozenset({"broker", "bridge", "api", "upload", "uplink"})
"""The subcommands that return a `Prepared` service."""
ALIVE_SECONDS = 5.0
"""Seconds between the watchdog reports of a service that has nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared(ABC):
    """Base class of a service that is ready to run until SIGTERM or Ctrl-C."""

    verbose: bool
    quiet: bool

    @abstractmethod
    def run(self) -> int:
        """Run the service until it is stopped, and return the exit code.

        Raises CommandFailed if the service fails.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedBroker(Prepared):
    """The MQTT broker, ready to run."""

    configuration: "Configuration"
    read_again: "Callable[[], Configuration]"
    """Function that reads the configuration for a reload, or raises ConfigurationError."""

    def run(self) -> int:
        from gateway.broker.access.errors import AccessFileError
        from gateway.broker.server.commit.faults import StoreFailed
        from gateway.broker.server.main import serve
        from gateway.broker.store.database import DataDirectoryInUse
        from gateway.cli.running.processes import notify_ready, serve_until_stopped
        from gateway.configuration import ConfigurationError

        serve_until_stopped(
            "broker",
            lambda stop: serve(self.configuration, stop, notify_ready, self.read_again),
            verbose=self.verbose,
            quiet=self.quiet,
            data_dir=self.configuration.gateway.data_dir,
            refusals=(DataDirectoryInUse, StoreFailed),
            mistakes=(ConfigurationError, AccessFileError),
        )
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedBridge(Prepared):
    """The bridge, ready to run. It publishes data from serial ports to the broker."""

    settings: "BridgeSettings"
    source: "ConfigurationSource"
    """Source of the configuration, which is read again when operators add or change sensors."""

    def run(self) -> int:
        from firmware_bridge.main import serve

        from gateway.cli.running.processes import report_ready, serve_until_stopped
        from gateway.process.files.queue_opening import QueueError
        from gateway.process.service import Service

        service = Service()
        serve_until_stopped(
            "bridge",
            lambda stop: serve(
                self.settings,
                stop,
                lambda: report_ready(service),
                service.alive,
                self.source.sensor_files(),
            ),
            verbose=self.verbose,
            quiet=self.quiet,
            data_dir=self.settings.data_dir,
            refusals=(QueueError,),
        )
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedIdle(Prepared):
    """A service that has nothing to do in this configuration.

    It logs `reason`, reports that it is ready, and waits until it is stopped.
    """

    name: str
    reason: str

    def run(self) -> int:
        import asyncio

        from gateway.cli.running.processes import report_ready, serve_until_stopped
        from gateway.process.service import Service

        service = Service()

        async def wait(stop: asyncio.Event) -> None:
            logger.info("%s: %s", self.name, self.reason)
            report_ready(service)
            while not stop.is_set():
                service.alive()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(ALIVE_SECONDS):
                        await stop.wait()

        serve_until_stopped(self.name, wait, verbose=self.verbose, quiet=self.quiet)
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedUplink(Prepared):
    """The connection to an upstream broker, ready to run."""

    settings: "UplinkSettings"

    def run(self) -> int:
        from gateway.cli.running.processes import report_ready, serve_until_stopped
        from gateway.process.files.queue_opening import QueueError
        from gateway.process.service import Service
        from gateway.uplink.main import serve

        service = Service()
        serve_until_stopped(
            "uplink",
            lambda stop: serve(self.settings, stop, lambda: report_ready(service), service.alive),
            verbose=self.verbose,
            quiet=self.quiet,
            data_dir=self.settings.data_dir,
            refusals=(QueueError,),
        )
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedApi(Prepared):
    """The status page and the REST interface, ready to run."""

    settings: "ApiSettings"

    def run(self) -> int:
        from api.main import CertificateUnusable, serve
        from gateway.cli.running.processes import report_ready, serve_until_stopped
        from gateway.process.service import Service

        service = Service()
        serve_until_stopped(
            "api",
            lambda stop: serve(
                self.settings, stop, lambda url: report_ready(service), service.alive
            ),
            verbose=self.verbose,
            quiet=self.quiet,
            mistakes=(CertificateUnusable,),
        )
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedUpload(Prepared):
    """The session log's exporter and uploader, ready to run."""

    settings: "SessionLogSettings"

    def run(self) -> int:
        from gateway.broker.store.journal_reader import JournalReader
        from gateway.cli.running.processes import report_ready, serve_until_stopped
        from gateway.process.service import Service
        from gateway.uploader.main import LogInUse, serve
        from gateway.uploader.priority import lower_priority

        lower_priority()
        journal = JournalReader(self.settings.data_dir)
        service = Service()
        serve_until_stopped(
            "upload",
            lambda stop: serve(
                self.settings,
                journal.blobs_after,
                stop,
                lambda: report_ready(service),
                service.alive,
            ),
            verbose=self.verbose,
            quiet=self.quiet,
            data_dir=self.settings.data_dir,
            refusals=(LogInUse,),
        )
        return 0
