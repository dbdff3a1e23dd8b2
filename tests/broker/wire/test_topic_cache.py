"""The cache of topics that were already checked: its contents and its limits."""

import pytest

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.limits import TOPIC_CACHE_BYTES_MAX, TOPIC_CACHE_COUNT_MAX
from gateway.broker.wire.malformed import Malformed
from gateway.broker.wire.topic_cache import TopicCache
from gateway.broker.wire.values import topic_field_of


def test_the_topic_cache_stays_within_its_count() -> None:
    cache = TopicCache()
    known = cache.known
    for index in range(TOPIC_CACHE_COUNT_MAX * 2 + 10):
        assert cache.learn(topic_field_of(f"t/{index}"), False) == f"t/{index}"
        assert len(known) <= TOPIC_CACHE_COUNT_MAX
    # Decoders refer to this dict, so the cache empties it instead of replacing it.
    assert cache.known is known
    assert len(known) == 10


def test_the_topic_cache_stays_within_its_bytes() -> None:
    cache = TopicCache()
    for index in range(3000):
        cache.learn(topic_field_of(f"{index:06d}/" + "x" * 500), False)
        size_bytes = sum(len(field) for field in cache.known)
        assert size_bytes == cache.size_bytes
        assert size_bytes <= TOPIC_CACHE_BYTES_MAX


def test_a_long_topic_is_not_remembered() -> None:
    cache = TopicCache()
    assert cache.learn(topic_field_of("x" * 1000), False) == "x" * 1000
    assert cache.known == {}


@pytest.mark.parametrize("code", [0x01, 0x1F, 0x7F, 0x80, 0x9F, 0x20, 0x7E, 0xA0])
@pytest.mark.parametrize("allows", [False, True])
def test_a_control_character_in_a_topic_is_refused_unless_it_is_allowed(
    code: int, allows: bool
) -> None:
    topic = f"a{chr(code)}b".encode()
    body = len(topic).to_bytes(2, "big") + topic
    for _ in range(2):  # the second time, the topic is in the cache
        decoder = Decoder(100, 4, allows_control_characters=allows)
        packets = decoder.feed(b"\x30" + bytes([len(body)]) + body)
        is_refused = not allows and code not in (0x20, 0x7E, 0xA0)
        assert (len(packets), decoder.error is not None) == (not is_refused, is_refused)


def test_a_wrong_topic_is_refused_and_not_remembered() -> None:
    cache = TopicCache()
    for topic, reason in (
        (b"a/#", "topic_name"),
        (b"", "topic_name"),
        (b"\xff", "string_encoding"),
    ):
        with pytest.raises(Malformed) as refusal:
            cache.learn(len(topic).to_bytes(2, "big") + topic, True)
        assert refusal.value.reason == reason
    assert (cache.known, cache.size_bytes) == ({}, 0)
