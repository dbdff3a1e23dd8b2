"""Valid and invalid settings of `[serial.readings]`."""

from typing import Any

import pytest
from pydantic_core import PydanticCustomError

from gateway.process.declarations.readings import QuantityRule, Readings


def test_what_is_meant_is_accepted() -> None:
    Readings().check()
    Readings(
        topic="{site}/{device}/{quantity}", payload="json", tags={"site": "north"},
        template={"v": "{value}", "about": [{"at": "{time}"}], "label": "{site}: {unit}", "k": 1},
        quantities=(QuantityRule(name="a"), QuantityRule(name="b")),
    ).check()  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "fix"),
    [
        ({"topic": "a/{device}"}, 'and "{quantity}" in topic'),
        ({"topic": "a/{device}/{quantity}/{site}"}, 'in place of "{site}" in topic'),
        ({"payload": "json"}, "template with payload"),
        ({"template": {"a": "{value}"}}, "template with payload"),
        ({"payload": "json", "template": {"a": "{valeu}"}}, 'in place of "{valeu}" in template'),
        ({"payload": "json", "template": {"a": float("nan")}}, "no nan"),
        ({"payload": "json", "template": {"a": [[[["x"]]]]}}, "3 tables within"),
        ({"payload": "json", "template": {"a": ["x"] * 65}}, "at most 64 values"),
        ({"payload": "json", "template": {"a": None}}, "texts, numbers, true"),
        ({"tags": {"value": "x"}}, 'another tag than "value"'),
        ({"tags": {"site": "a/b"}}, "in tag site"),
        ({"tags": {f"t{number}": "x" for number in range(17)}}, "at most 16 tags"),
        ({"quantities": (QuantityRule(name="a"),) * 2}, '"a" once in quantities'),
    ],
)
def test_what_could_not_be_published_is_refused(keys: dict[str, Any], fix: str) -> None:
    with pytest.raises(PydanticCustomError) as refusal:
        Readings(**keys).check()
    assert fix in str(refusal.value)


def test_a_rule_that_only_scales_leaves_nothing_out() -> None:
    assert not QuantityRule(name="a", scale=2).filters
    assert QuantityRule(name="a", deadband=0.1).filters
