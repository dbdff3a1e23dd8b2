"""Tables of the configuration file as dataclasses."""

from dataclasses import dataclass, field

from gateway.process.declarations.section import NO_KEY, Section, fields_of, keys_of


@dataclass(frozen=True, kw_only=True)
class Pump(Section):
    """A table with two keys."""

    name: str
    speed: int = 3
    motor: object = field(default=None, metadata=NO_KEY)


def test_the_keys_of_a_table_are_its_attributes_but_for_those_that_stand_for_none() -> None:
    assert keys_of(Pump) == ("name", "speed")
    assert [each.default for each in fields_of(Pump)][1] == 3


def test_two_tables_are_equal_wherever_they_got_their_values() -> None:
    assert Pump(name="a", given=frozenset({"name"})) == Pump(name="a", speed=3)
