"""The problem sensor of Home Assistant."""

import json

from firmware_bridge.mqtt.problem import REASON_CHARACTERS_MAX, REASONS_MAX, problem_payload


def test_no_reason_is_no_problem() -> None:
    assert problem_payload([]) == b'{"problem":false,"reasons":[]}'
    assert json.loads(problem_payload(["a"])) == {"problem": True, "reasons": ["a"]}


def test_reasons_are_bounded_in_number_and_length() -> None:
    found = json.loads(problem_payload(["x" * 1000] * 100))
    assert [len(each) for each in found["reasons"]] == [REASON_CHARACTERS_MAX] * REASONS_MAX
