"""Frames of boards are accepted once, although boards are restarted, flashed or swapped."""

import random
from collections import deque
from dataclasses import dataclass, field

import pytest
from firmware_bridge.outbox import boards as boards_module
from firmware_bridge.outbox.board_start import FRAMES_REMEMBERED, RESENDS_MAX
from firmware_bridge.outbox.boards import BOOTS, BoardRows, Boards, Placement, TooManyStarts
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.readings.numbering import BoardIdentity
from hypothesis import example, given, settings
from hypothesis import strategies as st

DEVICE = 7
# The bridge remembers 32 starts of a device; frames of one life may fit into several.
FLASHED_MAX = 12


def digest_of(contents: object) -> bytes:
    frame = Frame({"text": [Measurement("text", repr(contents))]})
    return frame.contents_digest()


class Taken:
    """Boards, the frames stored from them, and a disk that retains what was committed."""

    def __init__(self) -> None:
        self.boards = Boards()
        self.stored: list[tuple[tuple[int, int], object]] = []
        self._uncommitted: list[tuple[tuple[int, int], object]] = []
        self._disk = Disk()

    def take(self, boot: int, sequence: int, contents: object, port: str = "a") -> Placement:
        identity, digest = BoardIdentity(DEVICE, boot, sequence), self.digest_of(contents)
        placement = self.boards.place(identity, digest, port)
        self.boards.accept(placement, identity, digest, port)
        if placement.is_new:
            self._uncommitted.append(((placement.published_boot, sequence), contents))
        return placement

    def digest_of(self, contents: object) -> bytes:
        return digest_of(contents)

    def commit(self) -> None:
        self._disk.save(self.boards.take_changes())
        self.stored += self._uncommitted
        self._uncommitted.clear()

    def kill(self) -> None:
        self._uncommitted.clear()
        self.boards = Boards(self._disk.rows())

    def restart(self) -> None:
        self.commit()
        self.kill()


@dataclass
class Disk:
    """Rows in the form in which the outbox's tables store them."""

    blocks: dict[tuple[tuple[int, int, int], int], tuple[bytes, int]] = field(default_factory=dict)
    counts: dict[tuple[int, int], int] = field(default_factory=dict)
    floors: dict[int, tuple[int, int]] = field(default_factory=dict)

    def save(self, changes: BoardRows) -> None:
        for removed in changes.removed_blocks:
            self.blocks.pop(removed, None)
        for key, block, digests, used in changes.blocks:
            self.blocks[key, block] = (digests, used)
        self.counts.update(changes.counts)
        for boot in changes.removed_counts:
            self.counts.pop(boot, None)
        self.floors.update(changes.floors)

    def rows(self) -> BoardRows:
        return BoardRows(
            blocks=sorted(
                ((*place, *found) for place, found in self.blocks.items()), key=lambda row: row[3]
            ),
            counts=list(self.counts.items()),
            floors=list(self.floors.items()),
        )


def test_a_frame_that_was_accepted_before_is_known_also_after_a_restart() -> None:
    taken = Taken()
    for sequence in range(1, 101):
        assert taken.take(1, sequence, sequence).is_new
    assert not taken.take(1, 100, 100).is_new
    taken.restart()
    for sequence in range(70, 101):
        assert not taken.take(1, sequence, sequence).is_new
    assert taken.take(1, 101, 101).is_new
    taken.commit()
    assert len(taken.stored) == 101


@pytest.mark.parametrize("restarts", [False, True])
def test_a_board_flashed_again_counts_from_the_beginning_and_loses_nothing(restarts: bool) -> None:
    taken = Taken()
    for sequence in range(1, 1001):
        taken.take(1, sequence, ("old", sequence))
    if restarts:
        taken.restart()
    begun = [taken.take(1, sequence, ("new", sequence)) for sequence in range(1, 1003)]
    assert all(each.is_new for each in begun)
    assert [each.begins for each in begun] == [True] + [False] * 1001
    assert {each.published_boot for each in begun} == {1 + BOOTS}
    taken.commit()
    assert len(dict(taken.stored)) == 2002


def test_each_start_with_the_same_boot_number_has_a_number_of_its_own_over_restarts() -> None:
    taken = Taken()
    found = []
    for start in range(30):
        found.append(taken.take(5, 1, start).published_boot)
        taken.take(5, 2, start)
        taken.restart()
    assert found == [5 + BOOTS * start for start in range(30)]


def test_a_sensor_that_always_sends_the_same_loses_at_most_what_may_be_a_resend() -> None:
    taken = Taken()
    for sequence in range(1, 1001):
        taken.take(1, sequence, "closed")
    again = [taken.take(1, sequence, "closed") for sequence in range(1, 1501)]
    assert [each.is_new for each in again] == [False] * RESENDS_MAX + [True] * (1500 - RESENDS_MAX)
    assert {each.published_boot for each in again[RESENDS_MAX:]} == {1 + BOOTS}


def test_a_number_whose_contents_are_forgotten_is_another_start() -> None:
    taken = Taken()
    for sequence in range(1, 2 * FRAMES_REMEMBERED + 1):
        taken.take(1, sequence, sequence)
    assert not taken.take(1, FRAMES_REMEMBERED + 1, FRAMES_REMEMBERED + 1).is_new
    late = taken.take(1, 1, 1)
    assert (late.is_new, late.published_boot) == (True, 1 + BOOTS)


def test_two_boards_of_one_number_on_two_ports_are_two_starts_and_no_more() -> None:
    taken = Taken()
    found: dict[str, set[int]] = {"a": set(), "b": set()}
    for sequence in range(1, 500):
        for port, boots in found.items():
            placement = taken.take(1, sequence, (port, sequence), port)
            assert placement.is_new
            boots.add(placement.published_boot)
    assert found == {"a": {1}, "b": {1 + BOOTS}}


@pytest.mark.parametrize("ahead", [0, 10, 100, 5000])
def test_two_boards_of_one_number_on_one_line_do_not_begin_without_end(ahead: int) -> None:
    taken = Taken()
    for sequence in range(1, ahead + 1):
        taken.take(1, sequence, ("first", sequence))
    boots = set()
    for sequence in range(1, 400):
        boots.add(taken.take(1, ahead + sequence, ("first", ahead + sequence)).published_boot)
        boots.add(taken.take(1, sequence, ("second", sequence)).published_boot)
    taken.commit()
    assert len(dict(taken.stored)) == ahead + 2 * 399
    assert len(boots) <= 3


def test_boot_numbers_beyond_those_that_are_counted_still_give_no_number_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(boards_module, "BOOTS_COUNTED_MAX", 20)
    taken = Taken()
    chance = random.Random(1)  # noqa: S311
    for contents in range(500):
        taken.take(chance.randrange(100), 1, contents)
        if contents % 7 == 0:
            taken.restart()
    taken.commit()
    assert len(dict(taken.stored)) == 500


def test_boots_that_only_rise_never_count_as_repeated_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(boards_module, "BOOTS_COUNTED_MAX", 20)
    taken = Taken()
    for boot in range(1, 200):
        assert taken.take(boot, 1, "the same").published_boot == boot


def test_a_board_that_begins_again_too_often_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards_module, "REPEATS_MAX", 3)
    taken = Taken()
    for contents in range(3):
        taken.take(1, 1, contents)
    with pytest.raises(TooManyStarts):
        taken.take(1, 1, "once more")


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards_module, "BLOCKS_MAX", 50)
    boards, disk = Boards(), Disk()
    for sequence in range(1, 3000):
        digest = digest_of(sequence)
        for identity in (BoardIdentity(device, 1, sequence) for device in range(10)):
            boards.accept(boards.place(identity, digest, "a"), identity, digest, "a")
        disk.save(boards.take_changes())
        assert len(disk.blocks) <= 50


@dataclass
class PhysicalBoard:
    """A board that stores up to 32 unacknowledged frames. `life` counts its firmware uploads."""

    number: int
    life: int = 0
    sequence: int = 0
    kept: deque[int] = field(default_factory=deque)

    def flash(self) -> None:
        self.life += 1
        self.sequence = 0
        self.kept.clear()

    def contents_of(self, sequence: int) -> object:
        return (self.number, self.life, sequence)


@settings(max_examples=300)
@given(st.integers(0, 2**32))
@example(1_564_782_587)  # the other board was far ahead
def test_nothing_is_lost_or_doubled_through_resends_flashing_swaps_and_kills(seed: int) -> None:
    live(seed, Taken())


def test_these_lives_find_a_bridge_that_compares_numbers_alone() -> None:
    class NumbersAlone(Taken):
        def digest_of(self, contents: object) -> bytes:
            return b"the same"

    with pytest.raises(AssertionError, match="lost"):
        live_often(NumbersAlone)


def test_these_lives_find_a_bridge_that_forgets_contents_at_a_restart() -> None:
    class Forgetful(Taken):
        def kill(self) -> None:
            super().kill()
            self.boards = Boards()

    with pytest.raises(AssertionError, match=r"doubled|a number given twice"):
        live_often(Forgetful)


def live_often(kind: type[Taken]) -> None:
    for seed in range(100):
        live(seed, kind())


def live(seed: int, taken: Taken) -> None:
    """Simulate two boards with the same number on one line. Only one is plugged in at a time."""
    chance = random.Random(seed)  # noqa: S311
    boards = [PhysicalBoard(number) for number in range(2)]
    plugged = 0
    accepted: set[object] = set()
    for _ in range(chance.choice((50, 400))):
        board = boards[plugged]
        match chance.choices(
            ("measure", "send", "swap", "flash", "kill", "restart"), (40, 40, 4, 2, 3, 1)
        )[0]:
            case "measure" if len(board.kept) < 32:
                board.sequence += chance.choice((1, 1, 1, 1, 40))
                board.kept.append(board.sequence)
            case "send":
                sent = chance.sample(list(board.kept), chance.randint(0, len(board.kept)))
                for sequence in sent:
                    taken.take(1, sequence, board.contents_of(sequence))
                if chance.random() < 0.8:
                    taken.commit()
                    accepted.update(board.contents_of(sequence) for sequence in sent)
                    for sequence in sent:
                        if chance.random() < 0.7:  # Otherwise the acknowledgement is lost.
                            board.kept.remove(sequence)
            case "swap":
                plugged = 1 - plugged
            case "flash" if boards[0].life + boards[1].life < FLASHED_MAX:
                board.flash()
            case "kill":
                taken.kill()
            case "restart":
                taken.restart()
            case _:
                pass
    taken.commit()
    contents = [each for _, each in taken.stored]
    assert len(set(contents)) == len(contents), "doubled"
    assert accepted <= set(contents), "lost"
    assert len({key for key, _ in taken.stored}) == len(taken.stored), "a number given twice"
