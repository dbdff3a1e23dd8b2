"""`[uplink]`: a connection to an upstream broker, and settings that cannot work."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.wire.topics import matches
from gateway.configuration import ConfigurationError, load
from gateway.configuration.uplink import overlap

ADDRESS = "[uplink]\naddress = 'up.example:8883'\n"
TOPIC = "[[uplink.topics]]\nfilter = 'sensors/#'\n"
BOTH = "[[uplink.topics]]\nfilter = '+'\ndirection = 'both'\n"
LEVEL = st.sampled_from(["a", "b", "+", "$x", ""])
TOPICS = st.lists(st.sampled_from(["a", "b", "$x", ""]), min_size=1, max_size=3).map("/".join)


@st.composite
def filters(draw: st.DrawFn) -> str:
    levels = draw(st.lists(LEVEL, min_size=1, max_size=3))
    if draw(st.booleans()):
        levels[-1] = "#"
    return "/".join(levels)


@given(filters().filter(bool), filters().filter(bool), TOPICS.filter(bool))
def test_filters_that_share_a_topic_overlap(one: str, other: str, topic: str) -> None:
    assert overlap(one, other) == overlap(other, one)
    if matches(one, topic) and matches(other, topic):
        assert overlap(one, other)


@given(filters().filter(bool), filters().filter(bool))
def test_filters_that_overlap_share_a_topic(one: str, other: str) -> None:
    # Every topic of up to four levels from this alphabet.
    alphabet = ["a", "b", "$x", ""]
    topics = [""]
    for _ in range(4):
        topics += [f"{each}/{level}" for each in topics for level in alphabet]
    names = {each[1:] for each in topics if each.startswith("/")} | set(alphabet)
    shared = any(matches(one, name) and matches(other, name) for name in {"", *names})
    assert overlap(one, other) == shared


def test_nothing_is_carried_without_an_address() -> None:
    assert load(None, {}, {}, None).uplink.address is None


def test_every_key_is_read(file: Path) -> None:
    file.write_text(
        f"{ADDRESS}protocol = 4\nclient_id = 'c'\nusername = 'u'\npassword_file = 'p'\n"
        "queue_max = '1MiB'\nwindow = 7\nsession_expiry = '7d'\navailability_topic = 'gw/state'\n"
        "local_broker = '127.0.0.1:1884'\nlocal_username = 'l'\nlocal_password_file = 'q'\n"
        "[uplink.tls]\nca = 'ca.pem'\ncertificate = 'c.pem'\nkey = 'k.pem'\nmin_version = '1.3'\n"
        f"{TOPIC}direction = 'out'\nqos = 1\nlocal_prefix = 'l/'\nremote_prefix = 'r/'\n"
    )
    configuration = load(file, {}, {}, None)
    uplink = configuration.uplink
    assert configuration.uplink_local_address == ("127.0.0.1", 1884)
    assert (uplink.window, uplink.session_expiry, uplink.queue_max) == (7, 604_800.0, 1 << 20)
    assert uplink.tls is not None
    assert uplink.tls.min_version == "1.3"
    (topic,) = uplink.topics
    assert (topic.local_filter, topic.remote_filter) == ("l/sensors/#", "r/sensors/#")


@pytest.mark.parametrize(
    ("content", "fix"),
    [
        (TOPIC, "use address"),
        (ADDRESS, "use [[uplink.topics]]"),
        (f"{ADDRESS}password_file = 'p'\n{TOPIC}", "use username with password_file"),
        (f"{ADDRESS}local_password_file = 'p'\n{TOPIC}", "use local_username with"),
        (f"{ADDRESS}availability_topic = 'a/#'\n{TOPIC}", 'a topic without "+" and "#"'),
        (f"{ADDRESS}tls = {{certificate = 'c'}}\n{TOPIC}", "certificate and key together"),
        (f"{ADDRESS}{TOPIC}qos = 3\n", "from 0 to 2"),
        (f"{ADDRESS}{TOPIC}direction = 'up'\n", '"out", "in" or "both"'),
        (f"{ADDRESS}{TOPIC}remote_prefix = 'a/#/'\n", 'without "+" and "#"'),
        (f"{ADDRESS}{TOPIC}local_prefix = '$SYS/'\n", 'does not begin with "$"'),
        (f"{ADDRESS}[[uplink.topics]]\nfilter = '#'\nremote_prefix = 'site'\n", "ends a level"),
        (f"{ADDRESS}[[uplink.topics]]\nfilter = '$share/a/b'\n", "without"),
        (f"{ADDRESS}[[uplink.topics]]\nfilter = '$SYS/#'\n", 'topics that begin with "$"'),
        (f"{ADDRESS}{TOPIC}[[uplink.topics]]\nfilter = '+/a'\n", "both go out"),
        (
            f"{ADDRESS}[[uplink.topics]]\nfilter = 'a'\ndirection = 'in'\n{BOTH}",
            "both come in",
        ),
        (f"{ADDRESS}protocol = 4\n{TOPIC}direction = 'both'\n", "would come back"),
        (f"{ADDRESS}{TOPIC}[[listeners]]\nprotocol = 'websocket'\n", "[uplink] local_broker"),
        (f"{ADDRESS}{TOPIC}[mqtt]\nprotocol_versions = [4]\n", "5 in [mqtt] protocol_versions"),
        (f"{ADDRESS}{TOPIC}[mqtt]\nmaximum_qos = 1\n", "a lower qos in [[uplink.topics]]"),
    ],
)
def test_what_cannot_work_is_refused_with_a_fix(file: Path, content: str, fix: str) -> None:
    file.write_text(content)
    with pytest.raises(ConfigurationError) as refused:
        load(file, {}, {}, None)
    assert fix in str(refused.value)


def test_a_name_and_a_password_are_not_shown(file: Path) -> None:
    file.write_text(f"{ADDRESS}username = 5\nlocal_password_file = 7\n{TOPIC}")
    with pytest.raises(ConfigurationError) as refused:
        load(file, {}, {}, None)
    assert "value of [uplink] username is not" in str(refused.value)
    assert "value of [uplink] local_password_file is not" in str(refused.value)


@pytest.mark.parametrize(
    ("keys", "window"), [("", 100), ("protocol = 4\n", 19), ("protocol = 4\nwindow = 50\n", 50)]
)
def test_the_window_follows_the_protocol_unless_it_is_given(
    file: Path, keys: str, window: int
) -> None:
    file.write_text(f"{ADDRESS}{keys}{TOPIC}")
    assert load(file, {}, {}, None).uplink_window == window
