"""Payloads for tests: SenML, almost SenML, and attempts to smuggle in a second payload."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from cloud_jobs.ingest.senml_pack import BASES, TYPES

HOSTILE = [
    '[{"n":"a","v":1}]}\n{"r":[{"n":"b","v":2}]',
    '[{"n":"a","v":1}]} {"r":[{"n":"b","v":2}]',
    '[]}\n{"r":[]',
    '[{"n":"a","v":1}],"r":[{"n":"b","v":2}]',
    '[{"n":"a","v":1},',
    '{"n":"b","v":2}]',
    '[{"n":"a","v":1}',
    '[{"n":"a","v":1}]\n',
    '[{"n":"a","v":1}]\x00',
    '[{"n":"a","n":"b","v":1}]',
    '[{"n":"a","\\u006e":"b","v":1}]',
    '[{"n":"a","v":1,"v":null}]',
    '[{"n":"a","v":1,"x":1,"x":2}]',
    '[{"n":"a\n","v":1}]',
    '[{"n":"a\\n\\u0000\\u001f\\"\\/","v":1}]',
    '[{"n":"\\ud83d\\ude00","v":1}]',
    '[{"n":"\\udc00","v":1}]',
    '[{"n":"\\uD800","v":1}]',
    '[{"n":"a","v":1}/**/]',
    '[{"n":"a","v":01}]',
    '[{"n":"a","v":1e99999}]',
    '[{"n":"a","v":-1e-400}]',
    '[{"n":"a","v":-Infinity}]',
    '[{"n":"a","v":9007199254740993}]',
    '[{"n":"a","v":0.1000000000000000055511151231257827}]',
    '[{"n":"a","v":1,"boot":-0,"sequence":9223372036854775807}]',
    '[{"bv":-0.0,"n":"a","v":-0.0},{"n":"b","v":-0},{"n":"c"},{"n":"d","bs":-0,"s":-0.0}]',
    '[{"n":"a","t":-1e9,"v":1}]',
    '[{"bt":1e9,"n":"a","t":-0.0,"v":1},{"bt":-0.0,"n":"b","v":1}]',
    '[{"n":"a","v":1,"device":"d","tags":{"a":"b"}}]',
    '[{"n":"a","v":1},[]]',
    '[{"n":"a","v":1},{}]',
    '[{}]',
    '[{"n":"\ufeff\u2028\U0010ffff","v":1}]',
]  # fmt: skip
"""Hostile payloads: invalid JSON, invalid SenML, and attempts to smuggle in a second payload."""

_USUAL = {
    "text": ["", "a", "d", "q", "d/q", "d/q/x", "ü"],
    "number": ["0", "-0", "-0.0", "1.5", "1e2", "1E-2", "268435455", "268435456", "1e9", "3e11"],
    "integer": ["0", "1", "-7", "4294967299", "123456789012345678"],
    "truth": ["true", "false"],
}
_ODD = [
    "null", "{}", "[]", '"', "01", "1.", "-", "1e400", "9" * 400, "1" + "0" * 18,
    "9223372036854775808", "-9223372036854775808", "1.0", '"\\u0000"', '"\\ud800"', '"\\u00e9"',
    '"\\""', '"\x01"', '"\n"', "NaN",
]  # fmt: skip
_PIECES = ["", "", "", " ", "\n", ",", "]", "}", '"', "]}\n{", '{"r":[', "\\", "\ud7ff", "\x00"]


def _value(kind: str) -> st.SearchStrategy[str]:
    usual = [f'"{text}"' for text in _USUAL["text"]] if kind == "text" else _USUAL[kind]
    return st.sampled_from(usual)


def _field(name: str, value: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[str]:
    chosen = _value(TYPES.get(name, "text")) if value is None else value
    return st.tuples(st.sampled_from(["", "", " "]), chosen).map(
        lambda one: f'"{name}":{"".join(one)}'
    )


def _one_of(
    names: Iterable[str], value: st.SearchStrategy[str] | None = None
) -> st.SearchStrategy[str]:
    return st.sampled_from([*names]).flatmap(lambda name: _field(name, value))


_some_bases = st.lists(st.sampled_from(BASES), max_size=2, unique=True)
_some_others = st.lists(st.sampled_from(["t", "u"]), max_size=2, unique=True)


@st.composite
def _usual_records(draw: st.DrawFn) -> list[str]:
    """Draw the fields of a record, which mostly breaks no rule."""
    fields = [draw(_field(name)) for name in draw(_some_bases) + draw(_some_others)]
    fields.append(draw(_field("n", st.sampled_from(['"d/q"', '"d/q"', '"d/q/x"', '"a"', '""']))))
    fields += [draw(_one_of(["v", "v", "vs", "vb", "vd", "s"]))]
    if draw(st.booleans()):
        fields += ['"device":"d"', draw(_field("boot")), draw(_field("sequence"))]
    return draw(st.permutations(fields))


_typed = st.lists(_one_of(TYPES), max_size=4)
_odd = st.lists(
    _one_of([*TYPES, "tags", "\\u006e"], st.sampled_from([*_ODD, '""', "1", "true"])), max_size=2
)
_odd_records = st.tuples(_usual_records(), _typed | _odd).map(lambda both: both[0] + both[1])


@st.composite
def payloads(draw: st.DrawFn) -> str:
    """Draw a payload. Most break no rule; others have odd records or a piece of another payload."""
    how = draw(st.sampled_from(["usual", "usual", "usual", "odd", "broken"]))
    record = _odd_records | _typed if how == "odd" else _usual_records()
    records = draw(st.lists(record, min_size=how == "usual", max_size=3))
    comma = draw(st.sampled_from([",", ", "]))
    text = f"[{comma.join('{' + comma.join(fields) + '}' for fields in records)}]"
    if how == "broken":
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(_PIECES)) + text[at + draw(st.integers(0, 2)) :]
    return text
