"""Active bans of a running broker, added by operators or automatically for flapping clients.

A client is flapping if it connects and disconnects too often. A ban takes effect immediately:
matching connections are closed, and new ones are rejected. A separate thread then writes the ban to
disk, because SD cards are slow. Bans can expire or be lifted.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from gateway.broker.access import bans_file
from gateway.broker.access.bans_file import Ban, BansFileError, Kind, Source
from gateway.broker.core.bans import BANNED_REASON
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.violation import Violation
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.broker.server.listeners.address_limits import AddressLimits, address_in
from gateway.broker.server.listeners.banned_networks import BannedNetworks, network_of
from gateway.broker.wire.codes import ADMINISTRATIVE_ACTION
from gateway.configuration import Configuration
from gateway.configuration.quotas import Flapping
from gateway.process.files.disk_errors import line_of

logger = logging.getLogger(__name__)

FLAPPING_BANS_MAX: int = 1_000
"""Maximum number of concurrent bans for flapping (connecting and disconnecting too often). At the
limit, a new ban replaces the oldest one. An attacker with many client identifiers must not use
up the space for manual bans."""

RETRY_SECONDS = 60.0
"""Time until the next attempt after writing the bans has failed, for example because the disk is
full."""


class TooManyBans(Exception):
    """Error raised if an operator tries to add a ban but the list of bans is full."""


class Bans:
    """The active bans of a broker. Enforces them and stores them on disk."""

    def __init__(
        self, event_loop: EventLoop, addresses: AddressLimits, configuration: Configuration
    ) -> None:
        self._event_loop = event_loop
        self._addresses = addresses
        self._path = configuration.gateway.data_dir / bans_file.FILE_NAME
        self._bans: dict[tuple[Kind, str], Ban] = {}
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "bans")
        self._writing: asyncio.Task[bool] | None = None
        self._is_unwritten = False
        self._retry_at = 0.0
        self.set_flapping(configuration.flapping)

    def load(self) -> None:
        """Load the stored bans and apply them.

        If the file is damaged, rename it and start without bans.
        """
        try:
            bans = bans_file.load(self._path)
        except BansFileError as error:
            aside = self._path.with_name(f"{self._path.name}.damaged")
            logger.error("%s; no bans are in force: add the bans in %s again", error, aside)
            try:
                self._path.rename(aside)
            except OSError as failure:
                logger.error("%s cannot be renamed: %s", self._path, line_of(failure))
            return
        self._bans = {(ban.kind, ban.value): ban for ban in bans}
        self._apply()
        if bans:
            logger.info("bans in force: %d (oncegate ctl ban list)", len(bans))

    def set_flapping(self, settings: Flapping) -> None:
        """Apply the settings that define how often a client may disconnect before it is banned."""
        flapping = self._event_loop.broker.bans.flapping
        flapping.enabled = settings.enable
        flapping.count_max = settings.max_count
        flapping.window_seconds = settings.window_time
        flapping.forget()
        self._ban_ms = int(settings.ban_time * 1000)

    def listed(self) -> list[Ban]:
        """Return the active bans, in the order in which they were added."""
        return list(self._bans.values())

    # -- manual

    async def add(self, ban: Ban) -> tuple[int, bool]:
        """Add a ban and close the matching connections.

        Returns:
            The number of closed connections, and a Boolean: True if the ban was written to disk.

        Raises:
            TooManyBans: the list of bans is full.
        """
        key = (ban.kind, ban.value)
        if key not in self._bans and len(self._bans) >= bans_file.BANS_MAX:
            raise TooManyBans(f"there are {len(self._bans)} bans already: lift some")
        ended = self._begin(ban)
        return ended, await self._write()

    async def lift(self, kind: Kind, value: str) -> tuple[Ban, bool] | None:
        """Lift a ban.

        Returns:
            None if there is no such ban. Otherwise the lifted ban, and a Boolean: True if the
            change was written to disk.
        """
        ban = self._bans.pop((kind, value), None)
        if ban is None:
            return None
        logger.info("ban of %s %r lifted", kind, value)
        self._apply()
        return ban, await self._write()

    # -- automatic

    def tick(self) -> None:
        """Remove expired bans, and add bans for flapping clients. Called once a second."""
        time_ms = self.time_ms()
        over = [
            key
            for key, ban in self._bans.items()
            if ban.until_ms is not None and ban.until_ms <= time_ms
        ]
        for key in over:
            del self._bans[key]
            self._is_unwritten = True
        if over:
            self._apply()
        for client_id, address in self._event_loop.broker.bans.flapping.take().items():
            self._ban_flapping(client_id, address, time_ms)
        if self._is_unwritten and self._writing is None and self._loop.time() >= self._retry_at:
            self._writing = self._loop.create_task(self._write())
            self._writing.add_done_callback(self._written)

    def _ban_flapping(self, client_id: str, address: str, time_ms: int) -> None:
        origin = address_in(address)
        if origin is None or self._addresses.is_exempt(origin):
            return  # the client is the bridge, or another program on this machine
        if len(self._bans) >= bans_file.BANS_MAX:
            return
        flapping = [key for key, ban in self._bans.items() if ban.source is Source.FLAPPING]
        for key in flapping[: max(0, len(flapping) + 1 - FLAPPING_BANS_MAX)]:
            del self._bans[key]
        until_ms = time_ms + self._ban_ms
        reason = f"flapping, from {address} last"
        self._event_loop.broker.statistics.count_error("flapping")
        self._begin(Ban(Kind.CLIENT, client_id, reason, Source.FLAPPING, time_ms, until_ms))
        self._is_unwritten = True

    # -- effects of a ban

    def time_ms(self) -> int:
        """Return the current wall-clock time, in milliseconds since 1970."""
        return self._event_loop.wall_clock.shown()[0]

    def _begin(self, ban: Ban) -> int:
        self._bans.pop((ban.kind, ban.value), None)
        self._bans[ban.kind, ban.value] = ban
        self._apply()
        ended = 0
        detail = f"banned: {ban.reason}" if ban.reason else "banned"
        # MQTT 5.0 section 2.4: the reason "Banned" is only allowed in CONNACK.
        violation = Violation(BANNED_REASON, ADMINISTRATIVE_ACTION, detail)
        networks = BannedNetworks([network_of(ban.value)] if ban.kind is Kind.ADDRESS else [])
        for connection, channel in list(self._event_loop.channels.items()):
            if connection.is_open and _is_about(ban, networks, connection):
                self._event_loop.close_for(channel, violation)
                ended += 1
        logger.warning("%s %r %s; connections ended: %d", ban.kind, ban.value, detail, ended)
        return ended

    def _apply(self) -> None:
        values_by_kind: dict[Kind, set[str]] = {kind: set() for kind in Kind}
        for kind, value in self._bans:
            values_by_kind[kind].add(value)
        asked = self._event_loop.broker.bans
        asked.client_ids, asked.users = values_by_kind[Kind.CLIENT], values_by_kind[Kind.USER]
        self._addresses.banned = BannedNetworks(
            [network_of(each) for each in values_by_kind[Kind.ADDRESS]]
        )

    # -- on disk

    async def _write(self) -> bool:
        """Write all bans to disk. Return False if the write failed."""
        bans = self.listed()
        self._is_unwritten = False
        try:
            await self._loop.run_in_executor(self._thread, bans_file.save, self._path, bans)
        except OSError as error:
            logger.error(
                "changes to bans are lost if the broker stops now: %s: %s",
                self._path,
                line_of(error),
            )
            self._is_unwritten = True
            self._retry_at = self._loop.time() + RETRY_SECONDS
            return False
        return True

    def _written(self, _: "asyncio.Task[bool]") -> None:
        self._writing = None

    async def stop(self) -> None:
        """Write changes that are not on disk yet, and end the thread that writes bans."""
        if self._writing is not None:
            await self._writing
        if self._is_unwritten:
            await self._write()
        self._thread.shutdown()


def _is_about(ban: Ban, networks: BannedNetworks, connection: Connection) -> bool:
    if ban.kind is Kind.ADDRESS:
        address = address_in(connection.address)
        return address is not None and address in networks
    if ban.kind is Kind.USER:
        return connection.username == ban.value
    return connection.session is not None and connection.session.client_id == ban.value
