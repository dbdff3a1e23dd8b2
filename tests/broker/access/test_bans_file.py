"""Bans in their file: the contents, the format, and files that are refused."""

import json
import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.access import bans_file
from gateway.broker.access.bans_file import (
    Ban,
    BansFileError,
    Kind,
    Source,
    ban_of,
    load,
    save,
    text_of,
    value_of,
)

BANS = [
    Ban(Kind.CLIENT, "c \x00 ü", "comes and goes", Source.FLAPPING, 1_000, 2_000),
    Ban(Kind.USER, "ann", "", Source.OPERATOR, 1_000, None),
    Ban(Kind.ADDRESS, "2001:db8::/64", "scans", Source.OPERATOR, 1_000, None),
]


def test_what_was_saved_is_loaded_and_others_cannot_read_it(tmp_path: Path) -> None:
    path = tmp_path / bans_file.FILE_NAME
    before = os.umask(0)
    try:
        save(path, BANS)
    finally:
        os.umask(before)
    assert load(path) == BANS
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir()] == [bans_file.FILE_NAME]


def test_without_a_file_there_are_no_bans(tmp_path: Path) -> None:
    assert load(tmp_path / bans_file.FILE_NAME) == []


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(text_of(BANS))
    path = tmp_path / bans_file.FILE_NAME
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BansFileError):
        load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no file of bans"),
        (b"[]", "an object with a list of bans"),
        (b'{"format": 2, "bans": []}', "it has format 2, expected 1"),
        (b'{"format": 1, "bans": [7]}', "an object for each ban"),
        (b'{"format": 1, "bans": [{}]}', "'kind' has to be one of client, user, address"),
        (b"[" * 100_000, "is no file of bans"),
        (b"\xff", "is no file of bans"),
    ],
)
def test_what_is_no_file_of_bans_is_refused_with_what_was_expected(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / bans_file.FILE_NAME
    path.write_bytes(content)
    with pytest.raises(BansFileError, match=message):
        load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": []},
        {"source": "nobody"},
        {"value": ""},
        {"value": "x" * 1_025},
        {"reason": "x" * 201},
        {"reason": "a\nb"},
        {"since_ms": True},
        {"until_ms": -1},
        {"until_ms": 1.5},
        {"kind": "address", "value": "host.example"},
    ],
)
def test_a_ban_that_cannot_be_is_refused(change: dict[str, object]) -> None:
    record = {"kind": "client", "value": "c", "reason": "", "source": "operator", "since_ms": 1}
    assert ban_of(record).until_ms is None
    with pytest.raises(ValueError, match=r"."):
        ban_of(record | change)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("192.0.2.7", "192.0.2.7/32"),
        ("192.0.2.7/24", "192.0.2.0/24"),
        ("2001:DB8::7/64", "2001:db8::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7/32"),
        ("::ffff:192.0.2.0/120", "192.0.2.0/24"),
    ],
)
def test_an_address_has_one_form(written: str, value: str) -> None:
    assert value_of(Kind.ADDRESS, written) == value


@given(st.binary(max_size=200))
def test_any_bytes_are_bans_or_none(data: bytes) -> None:
    with suppress(ValueError):
        bans_file._bans_in(data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from([*Kind]),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(["kind", "value", "reason", "source", "since_ms", "until_ms"]),
                inner,
            )
        ),
        max_leaves=8,
    )
)
def test_any_record_is_a_ban_or_no_ban(record: object) -> None:
    document = {"format": 1, "bans": [record]}
    with suppress(ValueError):
        bans_file._bans_in(json.dumps(document).encode())
