"""Tracks users who were removed from their source (the password file or a database).

The stored sessions of a removed user receive nothing, and the user's pending wills are not
published, until a source authenticates the user again. If the password file is the only source, a
user who is missing from the file was removed. Users who log in with certificates, with tokens or
through a database cannot be listed. If such a source is configured, a user who is missing from the
password file might belong to that source. Such a user counts as removed only if the password file
contained the user before.

The names of known and removed users are stored on disk, because the password file can change while
the broker is stopped. For each stored session, the certificate with which its client logged in is
stored too.
"""

import asyncio
import logging
from pathlib import Path
from typing import Final

from gateway.broker.access.passwords.file import PasswordFile
from gateway.broker.access.users.removed_file import (
    FILE_NAME,
    RemovedFile,
    RemovedFileError,
    load,
    save,
)
from gateway.broker.core.broker import Broker
from gateway.broker.server.proof_ends import ProofEnds
from gateway.broker.server.rights import users_known
from gateway.configuration import Configuration
from gateway.process.files.disk_errors import line_of

logger = logging.getLogger(__name__)

NO_USERS: Final[frozenset[str]] = frozenset()

WRITE_SECONDS: Final = 600.0
"""Interval of writes for changes that only concern expiry times. If a power cut loses an expiry
time, the user counts as authenticated until the next start."""

CERTIFICATE_SECONDS: Final = 10.0
"""Time from a login with a certificate until the certificate is recorded on disk, in seconds. If a
power cut prevents the recording, revocation lists are not applied to the stored session. It is also
the shortest time between two examinations of all sessions."""


class RemovedUsers:
    """Record of removed users, which is kept across restarts and reported to the broker core."""

    def __init__(self, data_dir: Path, broker: Broker) -> None:
        """Load the removed users that the last run stored. If the file is damaged, rename it."""
        self._path = data_dir / FILE_NAME
        self._broker = broker
        self._users: frozenset[str] | None = None
        """The names of all users, or None if they cannot be listed."""
        self._is_unwritten = False
        self._writes_at = 0.0
        self._certificates_at = float("inf")
        """Monotonic time, in seconds, of the next check for sessions with new certificates."""
        self._loop = asyncio.get_running_loop()
        try:
            self._kept = load(self._path)
        except RemovedFileError as error:
            logger.error(
                "%s; users that were removed while the broker was down keep their sessions", error
            )
            self._kept = RemovedFile()
            try:
                self._path.replace(self._path.with_name(f"{FILE_NAME}.damaged"))
            except OSError as failure:
                logger.error("%s cannot be renamed: %s", self._path, line_of(failure))

        self.proof_ends = ProofEnds(broker, self._kept.expiry_ms)
        for client_id, certificate in self._kept.certificates.items():
            session = broker.state.sessions.get(client_id)
            if session is not None:
                session.certificate = certificate

    def take(self, configuration: Configuration, file: PasswordFile | None) -> None:
        """Update the sets of known and removed users from the newly loaded password file.

        `file` is None if no password file is configured.
        """
        names = NO_USERS if file is None else file.usernames
        self._users = users_known(configuration, file)
        removed = (self._kept.removed | self._kept.listed) - names
        has_lists_alone = self._users is not None or not configuration.authenticates
        self.proof_ends.take(
            None if has_lists_alone else names,
            configuration.access.sessions_outlive_proof,
            has_database=configuration.access.mysql is not None,
            gone=removed,
        )
        self._keep(names, removed)

    def add(self, username: str) -> None:
        """Add a user to the set of removed users."""
        self._keep(self._kept.listed, self._kept.removed | {username})

    def note_proof(self, username: str, seconds: float | None) -> None:
        """Record that a user is authenticated for the next `seconds`.

        `seconds` is None if the authentication does not expire, because the user is in the password
        file or in a database that is queried regularly.
        """
        now = self._loop.time()
        self.proof_ends.note(username, seconds, now)
        if seconds is not None:
            self._certificates_at = min(self._certificates_at, now + CERTIFICATE_SECONDS)

    def stop(self) -> None:
        """Store the sets of known and removed users, and the expiry times, on disk."""
        kept = self._data_to_store(self._kept.listed, self._kept.removed)
        if kept != self._kept:
            self._write(kept)

    def tick(self) -> None:
        """Update the set of removed users, and write changes to disk. Retry failed writes.

        Users whose authentication expired too long ago are added to the set. Users who have logged
        in again are deleted from the set. Called once a second.
        """
        now = self._loop.time()
        expired = self.proof_ends.take_expired(now)
        if expired:
            logger.warning(
                "%d users have not authenticated for too long: their sessions receive nothing",
                len(expired),
            )
            self._keep(self._kept.listed, self._kept.removed | expired)
        removed = self._kept.removed
        if self._broker.authenticates:
            removed &= self._broker.removed_users
        differs = removed != self._kept.removed or self._is_unwritten
        if now >= self._certificates_at:
            self._certificates_at = float("inf")
            differs |= self._certificates() != self._kept.certificates
        if differs or now >= self._writes_at:
            self._writes_at = now + WRITE_SECONDS
            kept = self._data_to_store(self._kept.listed, removed)
            if differs or kept != self._kept:
                self._write(kept)

    def _keep(self, known: frozenset[str], removed: frozenset[str]) -> None:
        owners = self._broker.state.owners.users()
        kept = self._data_to_store(known, removed.intersection(owners))
        if kept != self._kept or self._is_unwritten:
            self._write(kept)
        self._broker.deny_removed_users(self._users, kept.removed)

    def _data_to_store(self, known: frozenset[str], removed: frozenset[str]) -> RemovedFile:
        """Return the data to store on disk for the given known and removed users.

        The data also contains the expiry times and the certificates of sessions.
        """
        return RemovedFile(known, removed, self.proof_ends.to_store(), self._certificates())

    def _certificates(self) -> dict[str, str]:
        return {
            session.client_id: session.certificate
            for session in self._broker.state.sessions.values()
            if session.persistent and session.certificate is not None
        }

    def _write(self, kept: RemovedFile) -> None:
        self._kept = kept
        self._writes_at = self._loop.time() + WRITE_SECONDS
        try:
            # A user in a reloaded file must be recorded as known before the user logs in.
            save(self._path, kept)
        except OSError as error:
            if not self._is_unwritten:
                detail = "users that are removed now would keep their sessions after a restart"
                logger.error("%s: %s: %s", self._path, detail, line_of(error))
            self._is_unwritten = True
        else:
            self._is_unwritten = False
