from pathlib import Path

from gateway.tools.audit.segments import event_range_of, in_order, segments_below
from tests.audit_checks.cases import Case
from tests.audit_checks.events import begin, life


def test_each_segment_counts_once_in_the_order_of_the_chain_and_odd_names_are_named(
    tmp_path: Path,
) -> None:
    for name in ("b", "a"):
        case = Case(name, [begin(*life(1, 0)), life(2, 1)])
        for folder in ("sealed", "sent/deeper"):
            case.land(tmp_path / folder)
    odd = tmp_path / "sent" / "copy.jsonl.zst"
    odd.write_bytes(b"")
    (tmp_path / "sent" / "notes.txt").touch()
    folders = [tmp_path / name for name in ("sealed", "sent", "is not there")]
    found, strange = segments_below(folders)
    ordered = list(in_order(found))
    assert [(name.gateway, name.segment) for name, _ in ordered] == [
        ("a", 1), ("a", 2), ("b", 1), ("b", 2),
    ]  # fmt: skip
    assert {path.parent.name for _, path in ordered} == {"sealed"}
    assert strange == [odd]


def test_a_segment_that_the_uploader_moves_on_is_read_where_it_went(tmp_path: Path) -> None:
    case = Case("moved", [begin(*life(1, 0))])
    case.land(tmp_path / "sealed")
    (entry,) = in_order(segments_below([tmp_path / "sealed"])[0])
    (tmp_path / "sealed").rename(tmp_path / "sent")
    (tmp_path / "sealed").mkdir()
    event_range = event_range_of(*entry)
    assert (event_range.first_sequence, event_range.last_sequence) == (1, 8)
    assert (event_range.store, event_range.segment, event_range.previous_sha256) == (
        case.store,
        1,
        None,
    )
