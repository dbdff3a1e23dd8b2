"""Counts of losses, duplicates and disorder agree with a simple count that uses a set."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.tools.bench.sequences import Sequences


@given(
    arrivals=st.lists(st.one_of(st.integers(0, 30), st.just(-1)), max_size=60),
    more=st.integers(0, 10),
)
def test_every_message_is_counted_as_first_again_late_or_lost(
    arrivals: list[int], more: int
) -> None:
    sequences = Sequences()
    seen: set[int] = set()
    duplicates = late = 0
    highest = -1
    for arrival in arrivals:
        # -1 means the usual case: the next number.
        sequence = highest + 1 if arrival == -1 else arrival
        if arrival == -1:
            sequences.receive_run(1)
        else:
            sequences.receive(sequence)
        duplicates += sequence in seen
        late += sequence not in seen and sequence < highest
        seen.add(sequence)
        highest = max(highest, sequence)
    sent = highest + 1 + more
    assert sequences.next == highest + 1
    assert sequences.received == len(seen)
    assert sequences.duplicates == duplicates
    assert sequences.late == late
    assert sequences.lost_of(sent) == sent - len(seen)
