"""The list of gateways that a message has passed."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.uplink.hops import HOPS_MAX, HOPS_PROPERTY, hops_of, may_pass, with_hop

IDS = st.from_regex(r"\A[a-z0-9-]{1,8}\Z")
PROPERTIES = st.lists(st.tuples(st.sampled_from([HOPS_PROPERTY, "unit"]), st.text(max_size=20)))


@given(PROPERTIES, IDS)
def test_a_hop_is_added_after_the_others_and_other_properties_stay(
    properties: list[tuple[str, str]], gateway_id: str
) -> None:
    added = with_hop(properties, gateway_id)
    assert hops_of(added) == [*hops_of(properties), gateway_id]
    others = [each for each in properties if each[0] != HOPS_PROPERTY]
    assert [each for each in added if each[0] != HOPS_PROPERTY] == others
    assert len(added) == len(others) + 1


@given(PROPERTIES, IDS)
def test_no_message_passes_a_gateway_twice(
    properties: list[tuple[str, str]], gateway_id: str
) -> None:
    assert not may_pass(hops_of(with_hop(properties, gateway_id)), gateway_id)


def test_a_way_has_a_limited_number_of_gateways() -> None:
    properties: list[tuple[str, str]] = []
    for number in range(HOPS_MAX):
        assert may_pass(hops_of(properties), "one-more")
        properties = with_hop(properties, f"gateway-{number}")
    assert not may_pass(hops_of(properties), "one-more")
