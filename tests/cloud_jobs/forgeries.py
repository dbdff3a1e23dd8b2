"""Forged segments next to real ones, in two landings, and the keys file for the second landing.

`forged` is a gateway that signs. Its next segment lands in four forged versions before the real
one. Then its key is lost, and its new key is added to the keys file. Except for `forged-3`, the key
of each gateway is first seen in the batch in which its forged segments land.
"""

from __future__ import annotations

from pathlib import Path

from tests.cloud_jobs.landings import land
from tests.contract.segments import (
    OTHER_SEED,
    SEED,
    LogWriter,
    Segment,
    numbered,
    opened,
    payload_of,
    public_key_of,
    published,
    readings,
    sealed,
)

NEW_SEED, THIRD_SEED = bytes(range(64, 96)), bytes(range(96, 128))
KEY, OTHER, NEW, THIRD = map(public_key_of, (SEED, OTHER_SEED, NEW_SEED, THIRD_SEED))


def forged(log: LogWriter, *, seed: bytes | None, **footer: object) -> Segment:
    """Return a segment with other events in place of those that `log` writes next."""
    return sealed(
        numbered([opened(7, "forger")], log.sequence),
        first_sequence=log.sequence,
        gateway=log.gateway,
        store=log.store,
        segment=log.segment,
        previous_sha256=log.previous_sha256,
        seed=seed,
        footer=footer,
    )


def forged_session(
    log: LogWriter, *, segment: int, first: int, previous: str | None = None
) -> Segment:
    """Return a segment with a stranger's session and reading in place of the gateway's events."""
    payload = payload_of(666.0, sequence=first)
    events = [opened(7, "forger"), published(900 + first, payload)]
    return sealed(
        numbered(events, first), first_sequence=first, gateway=log.gateway, store=log.store,
        segment=segment, previous_sha256=previous,
    )  # fmt: skip


def backdated(log: LogWriter) -> Segment:
    """Return an unsigned segment, number 1, with the event numbers that `log` writes next."""
    return sealed(
        numbered([opened(8, "forger")], log.sequence),
        first_sequence=log.sequence,
        gateway=log.gateway,
        store=log.store,
        segment=1,
    )


class Forgeries:
    """Forged and real segments that land in a directory.

    `keys` is the keys file of the second landing.
    """

    def __init__(self, landing: Path) -> None:
        self.landing = landing
        self.keys = landing.parent / "keys"
        self._log = LogWriter("forged", seed=SEED)
        self._third = LogWriter("forged-3", seed=THIRD_SEED)
        self._moved: Segment | None = None

    def land_first(self) -> None:
        landing, log = self.landing, self._log
        land(landing, LogWriter("forged-old").seal([opened(), *readings(1)]))
        land(landing, log.seal([opened(), *readings(1)]), self._third.seal([opened()]))
        other = LogWriter("forged-2", seed=OTHER_SEED)
        land(landing / "forged-2", other.seal([opened()]))
        land(
            landing,
            forged(log, seed=OTHER_SEED),
            forged(log, seed=None),
            forged(log, seed=SEED, signature="00" * 64),
            backdated(log),
        )
        # The file lands in another gateway's folder. In its own folder the same file is accepted.
        self._moved = log.seal(readings(2, first=2))
        land(landing / "forged-2", self._moved)
        log.seed = NEW_SEED
        land(landing, log.seal(readings(1, first=4)))

    def land_second(self) -> None:
        assert self._moved is not None
        (self.landing / "forged-2" / self._moved.name).unlink()
        # The segment is signed with a key other than the one that the previous batch trusted on
        # first use.
        by_stranger = forged(self._third, seed=OTHER_SEED)
        land(self.landing, self._moved, by_stranger, self._third.seal(readings(1)))
        self.keys.write_text(f"forged {KEY}\nforged {NEW} new card\n")
