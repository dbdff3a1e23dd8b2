"""Creates a broker's parts from its configuration and data directory."""

import asyncio
import logging
import re
from collections.abc import Mapping

from gateway.broker.access.authentication import Authenticator
from gateway.broker.access.logins.checks import Checks
from gateway.broker.access.passwords.decoys import load_key
from gateway.broker.access.passwords.file import PasswordFile
from gateway.broker.access.rules.evaluation import FileRules
from gateway.broker.access.users.file import FileUsers
from gateway.broker.access.users.source import Source
from gateway.broker.core.broker import Broker
from gateway.broker.core.limits import Limits
from gateway.broker.core.records.kinds import Observation, StartKind
from gateway.broker.core.records.recorder import Recorder
from gateway.broker.disk_budget.inventory import disk_of
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.broker.server.host import garbage
from gateway.broker.server.host.clock import WallClock
from gateway.broker.server.limits import apply_limits, bound_by_files, space_limits_of
from gateway.broker.server.quotas import quotas_of
from gateway.broker.server.rights import bridge_user_of
from gateway.broker.server.status.status import Identity
from gateway.broker.store.journal import FILE_BYTES
from gateway.broker.store.opening import Opened
from gateway.broker.store.store import Store
from gateway.configuration import Configuration, log_identity
from gateway.process.files.disk_errors import line_of
from gateway.process.version import installed_version

logger = logging.getLogger(__name__)

JOURNAL_FILES = 8
"""Minimum number of journal files within `max_journal`, which limits the length of a file."""


def users_of(configuration: Configuration) -> PasswordFile | None:
    """Load the password file, or return None if none is configured.

    Raises:
        PasswordFileError: the file cannot be read, or is invalid.
    """
    path = configuration.access.password_file
    return None if path is None else PasswordFile.load(path)


def other_sources_of(
    configuration: Configuration, kept: Mapping[str, Source] | None = None
) -> dict[str, Source]:
    """Return all user sources except the password file.

    The keys of the dictionary are those used in `[access]`. Sources in `kept` are reused.

    Raises:
        AccessFileError: a file of a source cannot be used.
    """
    access = configuration.access
    sources: dict[str, Source] = dict(kept or {})
    if access.jwt is not None and "jwt" not in sources:
        from gateway.broker.server.sources import token_users_of  # noqa: PLC0415 - it needs an extra

        sources["jwt"] = token_users_of(access.jwt)
    if access.mysql is not None and "mysql" not in sources:
        from gateway.broker.server.database_source import database_users_of  # noqa: PLC0415 - so does it

        sources["mysql"] = database_users_of(access.mysql)
    return sources


def authenticator_of(
    configuration: Configuration,
    users: PasswordFile | None,
    others: dict[str, Source],
    checks: Checks | None = None,
) -> Authenticator:
    """Return an authenticator with the configured user sources, in the configured order.

    Args:
        configuration: the broker's configuration.
        users: the password file, or None if none is configured.
        others: the other user sources. If they already include a source for the password file, it
            is reused.
        checks: the running credential checks and failed logins, which a reload keeps. If None, as
            at the broker's start, a process for password checks is started before the first login.
    """
    sources = dict(others)
    if users is not None and "password_file" not in sources:
        key = load_key(configuration.gateway.data_dir)
        sources["password_file"] = FileUsers(users, key)
    authenticator = Authenticator([sources[name] for name in configuration.access.sources], checks)
    if checks is None:
        authenticator.prepare()
    return authenticator


def store_of(configuration: Configuration) -> Store:
    """Return the store in the data directory. The store is not opened yet."""
    data_dir = configuration.gateway.data_dir
    # Beyond max_journal whole files are dropped, so no file may be a large part of it.
    limit = configuration.limits.max_journal // JOURNAL_FILES
    store = Store(data_dir, min(FILE_BYTES, limit))
    space = space_limits_of(configuration)
    store.wal_room_bytes = space.of_disk(disk_of(data_dir).total_bytes).reserve
    return store


def opened_of(store: Store, configuration: Configuration) -> Opened:
    """Open the store and recover the state of the last run.

    Raises:
        DataDirectoryInUse: another broker uses the data directory.
    """
    now = asyncio.get_running_loop().time()
    with garbage.ignored():
        return store.open(list(configuration.session_log.payload_topics), now)


def broker_of(
    configuration: Configuration, opened: Opened, boot: bytes, authenticator: Authenticator
) -> Broker:
    """Return the broker core for the recovered state.

    `boot` is the random identifier of this run (8 bytes).
    """
    limits = Limits()
    apply_limits(limits, configuration)
    bound = bound_by_files(configuration)
    if bound is not None:
        logger.warning("%s", bound)
    limits.quotas = quotas_of(configuration)
    recovered = opened.recovered
    recorder = Recorder(
        recovered.state, opened.store, boot, recovered.next_batch, recovered.next_sequence
    )
    return Broker(
        recovered.state, recorder, limits, configuration.authenticates, authenticator.methods
    )


def apply_rules(broker: Broker, rules: FileRules | None) -> None:
    """Set the access rules, and apply them to the recovered state before clients are accepted.

    `rules` is None if everything is allowed.
    """
    broker.restrict(rules)
    name = "everything is allowed" if rules is None else rules.file.name
    logger.info("access rules: %s", name)


def give_bridge_its_sessions(broker: Broker, configuration: Configuration) -> None:
    """Assign the bridge's sessions without a user to the bridge's user.

    The bridge has such a session if it connected before users were configured. A client with a user
    name must not resume a session without a user. If the session were not assigned, the bridge's
    messages in flight would wait until an operator deletes the session.
    """
    user = bridge_user_of(configuration)
    if user is None:
        return
    name = re.compile(re.escape(configuration.bridge.client_id) + "(-[0-9a-f]{8})?")
    for session in list(broker.state.sessions.values()):
        if session.username is None and name.fullmatch(session.client_id) is not None:
            broker.assign_owner(session, user)


def identity_of(configuration: Configuration, opened: Opened, boot: bytes) -> Identity:
    """Return the status values that stay the same while the process runs.

    `boot` is the random identifier of this run.
    """
    return Identity(
        log_identity(configuration),
        boot.hex(),
        installed_version(),
        opened.recovery.word,
        "; ".join(opened.damage) or None,
    )


def begin_run(event_loop: EventLoop, opened: Opened, identity: Identity) -> None:
    """Log and record how the last run ended, and start the broker core with the recovered state."""
    broker = event_loop.broker
    _log_recovery(opened)
    for damage in opened.damage:
        broker.observe(None, Observation.STORE_DAMAGED, "", damage)
    broker.start(
        opened.recovery,
        identity.version,
        opened.recovered.previous_boot,
        asyncio.get_running_loop().time(),
        *event_loop.wall_clock.read(),
    )
    _log_clock(event_loop.wall_clock)
    writer = event_loop.committer.writer
    try:
        writer.recent.load(writer.store.data_dir)
    except OSError as error:
        logger.warning("the page has no events of earlier runs: %s", line_of(error))
    event_loop.schedule()


def _log_clock(wall_clock: WallClock) -> None:
    quality = wall_clock.quality.word
    if quality != "synchronised":
        logger.warning(
            "the clock is %s: recorded times are not earlier than the last known time, and "
            "durations do not depend on the clock",
            quality,
        )


def _log_recovery(opened: Opened) -> None:
    for damage in opened.damage:
        logger.error("%s", damage)
    if opened.damage:
        logger.error(
            "what can be read is kept; `oncegate audit` lists what is missing. Replace a card "
            "that loses data"
        )
    recovered = opened.recovered
    if opened.recovery is StartKind.UNCLEAN:
        logger.warning(
            "the last run did not stop cleanly; %d records replayed from the journal",
            recovered.facts_applied,
        )
    logger.info(
        "sessions: %d, retained messages: %d, session log at %d",
        len(recovered.state.sessions),
        len(recovered.state.retained),
        recovered.next_sequence,
    )
