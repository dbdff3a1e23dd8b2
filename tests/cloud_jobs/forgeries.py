"""Forged segments beside real ones, in two landings, and the keys file that comes with the second.

A signing gateway, `forged`, whose next segment lands in four forged forms before the real one does;
then its key is lost, and the new one is added to the keys file. The key of each gateway is new in
the batch in which what is refused by it lands.
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
    """Other events in place of the ones that `log` writes next."""
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
    """A session of a stranger and a reading, in place of what the gateway writes."""
    payload = payload_of(666.0, sequence=first)
    events = [opened(7, "forger"), published(900 + first, payload)]
    return sealed(
        numbered(events, first), first_sequence=first, gateway=log.gateway, store=log.store,
        segment=segment, previous_sha256=previous,
    )  # fmt: skip


def backdated(log: LogWriter) -> Segment:
    """Unsigned, as an older number, with the events that come next."""
    return sealed(
        numbered([opened(8, "forger")], log.sequence),
        first_sequence=log.sequence,
        gateway=log.gateway,
        store=log.store,
        segment=1,
    )


class Forgeries:
    """What lands in a directory; `keys` is the keys file, which is there from the second on."""

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
        # Into the folder of another gateway; in its own place the same file is taken.
        self._moved = log.seal(readings(2, first=2))
        land(landing / "forged-2", self._moved)
        log.seed = NEW_SEED
        land(landing, log.seal(readings(1, first=4)))

    def land_second(self) -> None:
        assert self._moved is not None
        (self.landing / "forged-2" / self._moved.name).unlink()
        # By a key that the batch before took on first use.
        by_stranger = forged(self._third, seed=OTHER_SEED)
        land(self.landing, self._moved, by_stranger, self._third.seal(readings(1)))
        self.keys.write_text(f"forged {KEY}\nforged {NEW} new card\n")
