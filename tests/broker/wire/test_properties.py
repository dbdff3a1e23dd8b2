"""The properties of a packet as a value."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.wire.packets import Properties
from tests.broker.wire.strategies import VALUES


def test_an_empty_one_has_every_property_absent() -> None:
    assert repr(Properties()) == "Properties()"
    assert all(value is None or value == [] for _, value in Properties().fields())
    assert Properties() == Properties()


@given(data=st.data())
def test_one_property_alone_makes_a_difference_and_is_shown(data: st.DataObject) -> None:
    for name, values in VALUES.items():
        value = data.draw(values.filter(lambda drawn: drawn != []))
        one, same = Properties(), Properties()
        setattr(one, name, value)
        setattr(same, name, value)
        assert one != Properties()
        assert one == same
        assert repr(one) == f"Properties({name}={value!r})"


def test_every_property_is_among_the_fields_once() -> None:
    names = [name for name, _ in Properties().fields()]
    assert sorted(names) == sorted([*VALUES, "authentication_data", "authentication_method"])


def test_authentication_data_are_compared_and_not_shown() -> None:
    one, other = Properties(), Properties()
    one.authentication_data = b"secret"
    other.authentication_data = b"another"
    assert one != other
    assert repr(one) == repr(other) == "Properties(authentication_data=<hidden>)"
    assert Properties() != "Properties()"
