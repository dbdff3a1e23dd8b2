"""Addresses, paths, topic filters and URLs as operators write them."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from gateway.broker.wire.topics import validate_topic_filter
from gateway.configuration.addresses import (
    BindAddress,
    FilePath,
    HostAndPort,
    Origin,
    SocketDirectory,
    SocketPath,
    TopicFilter,
    UploadTarget,
    host_and_port_of,
    is_loopback,
)
from gateway.process.declarations.quantities import Quantity

ALL = (
    BindAddress(),
    HostAndPort(),
    FilePath(),
    SocketPath(),
    SocketDirectory(),
    Origin(),
    TopicFilter(),
    UploadTarget(),
)


@pytest.mark.parametrize(
    ("bind", "only_this_machine"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("192.168.1.7", False),
        ("a.example", False),
    ],
)
def test_only_loopback_addresses_cannot_be_reached_from_the_network(
    bind: str, only_this_machine: bool
) -> None:
    assert is_loopback(bind) is only_this_machine


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("127.0.0.1:1883", ("127.0.0.1", 1883)),
        ("[::1]:0", ("::1", 0)),
        ("a.example:65535", ("a.example", 65535)),
    ],
)
def test_an_address_is_taken_apart(address: str, parts: tuple[str, int]) -> None:
    assert host_and_port_of(address) == parts


@pytest.mark.parametrize("address", ["", "a", "a:", ":1", "::1:1883", "a:65536", "a:1:2", "a:-1"])
def test_what_is_no_host_and_port_is_refused_with_both_forms(address: str) -> None:
    with pytest.raises(ValueError, match=r"is not HOST:PORT, like 127\.0\.0\.1:1883 or \[::1\]"):
        host_and_port_of(address)


@pytest.mark.parametrize(
    ("quantity", "written", "value"),
    [
        (BindAddress(), "localhost", "localhost"),
        (BindAddress(), "0:0::1", "::1"),
        (HostAndPort(), "[fe80::1%2]:1883", "[fe80::1%2]:1883"),
        (FilePath(), "~/x", Path.home() / "x"),
        (FilePath(), "var", Path("var")),
        (SocketPath(), "/" + 106 * "x", Path("/" + 106 * "x")),
        (SocketDirectory(), "/" + 93 * "x", Path("/" + 93 * "x")),
        (Origin(), "HTTPS://Page.example:8443", "https://page.example:8443"),
        (Origin(), "*", "*"),
        (TopicFilter(), "+/a/#", "+/a/#"),
        (TopicFilter(), "#", "#"),
        (TopicFilter(), "/", "/"),
        (UploadTarget(), "file:///srv/uploaded", "file:///srv/uploaded"),
        (UploadTarget(), "s3://bucket/prefix", "s3://bucket/prefix"),
    ],
)
def test_a_value_is_taken_and_its_schema_takes_it_too(
    quantity: Quantity, written: str, value: object
) -> None:
    assert quantity.value_of(written) == value
    assert re.search(quantity.schema().get("pattern", ""), written)


@pytest.mark.parametrize(
    ("quantity", "written"),
    [
        (BindAddress(), "a.example"),
        (BindAddress(), "127.0.0.1:1883"),
        (HostAndPort(), "127.0.0.1:0"),
        (HostAndPort(), "-a:1883"),
        (FilePath(), ""),
        (FilePath(), "a\0b"),
        (SocketPath(), "/" + 107 * "x"),
        (SocketPath(), "/" + 54 * "\u00e4"),
        (SocketPath(), "a\nb"),
        (SocketDirectory(), "/" + 94 * "x"),
        (Origin(), "https://page.example/"),
        (Origin(), "ftp://page.example"),
        (TopicFilter(), ""),
        (TopicFilter(), "a#"),
        (TopicFilter(), "#/a"),
        (TopicFilter(), "a+/b"),
        (TopicFilter(), 65536 * "x"),
        (UploadTarget(), "s3:///"),
        (UploadTarget(), "s3:///bucket"),
        (UploadTarget(), "s3:/bucket/prefix"),
        (UploadTarget(), "az:container"),
        (UploadTarget(), "https:///page"),
        (UploadTarget(), "file://host/x"),
        (UploadTarget(), "/srv/uploaded"),
    ],
)
def test_any_other_value_is_refused(quantity: Quantity, written: str) -> None:
    with pytest.raises(PydanticCustomError):
        quantity.value_of(written)


@pytest.mark.parametrize("quantity", ALL, ids=lambda quantity: type(quantity).__name__)
@pytest.mark.parametrize("written", [None, 7, True, [], {}], ids=repr)
def test_what_is_no_text_is_refused(quantity: Quantity, written: object) -> None:
    with pytest.raises(PydanticCustomError):
        quantity.value_of(written)


@pytest.mark.parametrize("quantity", ALL, ids=lambda quantity: type(quantity).__name__)
@given(st.text(max_size=150))
def test_any_text_is_taken_or_refused_in_a_line_and_nothing_else_is_raised(
    quantity: Quantity, text: str
) -> None:
    line = ""
    try:
        quantity.value_of(text)
    except PydanticCustomError as refusal:
        line = str(refusal)
    assert "\n" not in line


@given(st.text(alphabet="ab/+#\0", max_size=12))
def test_a_topic_filter_is_what_the_broker_takes_for_one(text: str) -> None:
    try:
        TopicFilter().value_of(text)
        taken = True
    except PydanticCustomError:
        taken = False
    assert taken is (validate_topic_filter(text) is None)
