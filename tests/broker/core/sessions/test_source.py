"""The publisher of a retained message: written as a string, and read back."""

import pytest

from gateway.broker.core.sessions.source import CLIENT_ID_MAX, Source, Sources


@pytest.mark.parametrize(
    "source",
    [
        Source(None, "c", "", frozenset()),
        Source("", "c", "public", frozenset()),
        Source("anna", "", "public", frozenset({"readers", "operators"})),
        Source("=x", "ü", "[::1]:1883", frozenset({"g"})),
    ],
)
def test_a_source_is_read_back_as_it_was_written(source: Source) -> None:
    found = Sources().source_in(source.text())
    assert found is not None
    assert (found.username, found.client_id) == (source.username, source.client_id)
    assert (found.listener, found.groups) == (source.listener, source.groups)


def test_messages_of_one_publisher_share_their_source() -> None:
    sources, text = Sources(), Source("anna", "c", "l", frozenset()).text()
    assert sources.source_in(text) is sources.source_in(text)


@pytest.mark.parametrize("text", ["", "anna", "=anna\0c"])
def test_a_text_that_states_no_source_is_none(text: str) -> None:
    assert Sources().source_in(text) is None


def test_a_long_client_id_is_not_kept() -> None:
    assert Source(None, "c" * (CLIENT_ID_MAX + 1), "", frozenset()).client_id == ""
    assert Source(None, "c" * CLIENT_ID_MAX, "", frozenset()).client_id == "c" * CLIENT_ID_MAX
