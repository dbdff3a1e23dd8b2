"""Topics of Home Assistant's discovery: valid there, and unique for each device."""

import re

from gateway.process.control.discovery_topics import topic_for
from tests.bridge.mqtt import home_assistant as schema


def test_topics_are_home_assistant_s_and_one_for_each_device() -> None:
    pairs = [("a", "b"), ("a-b", "c"), ("a", "b-c"), ("a", "b.c"), ("a", "b_c"), ("a", "b:c")]
    topics = [topic_for("homeassistant", *pair) for pair in pairs]
    assert len({*topics}) == len(pairs)
    assert topics[0] == "homeassistant/device/a-b/config"
    for topic in topics:
        found = re.fullmatch(schema.DISCOVERY_TOPIC, topic.removeprefix("homeassistant/"))
        assert found is not None
        assert (found["component"], found["node_id"]) == ("device", None)
    assert topic_for("h", "gw", "1") != topic_for("h", "gw-1", "") != topic_for("h", "gw", "")
