"""Invalid values are explained in plain words: on pages, in REST bodies and in parameters."""

import json
import re
from typing import Any

import httpx
import pytest
from pydantic import BaseModel, ValidationError

import api.main  # noqa: F401 - defines all models
from api.mistakes import LABELS, sentence_of
from api.models.actions import Given
from api.models.users import AddToken, SetPassword
from api.problems import ProblemDetail
from tests.api.contract_broker import ContractBroker

PROGRAMMERS_WORDS = re.compile(
    r"should|Input|String|pattern|Field required|Value error|another form|is not valid$|None"
)
ODD: tuple[Any, ...] = (
    *(None, 7, -1, 1.5, 10**400, True, "", "a b", "x" * 100_000, [], {}, ["x"] * 200),
    {str(number): 1 for number in range(200)},
)


def sentences_about(model: type[BaseModel]) -> list[str]:
    """Return the sentences about all odd values of all fields, and about odd bodies."""
    bodies: list[str] = ["", "{", "[]", "7", "null", '{"odd": 1}', "{}"]
    bodies += [json.dumps({name: value}) for name in model.model_fields for value in ODD]
    found = []
    for body in bodies:
        try:
            model.model_validate_json(body)
        except ValidationError as error:
            found += [sentence_of(error), sentence_of(error, LABELS)]
    return found


@pytest.mark.parametrize("model", Given.__subclasses__())
def test_no_body_is_refused_in_a_programmer_s_words(model: type[BaseModel]) -> None:
    sentences = sentences_about(model)
    assert sentences
    assert [each for each in sentences if PROGRAMMERS_WORDS.search(each)] == []


@pytest.mark.parametrize("model", Given.__subclasses__())
def test_each_field_of_a_form_has_a_label(model: type[BaseModel]) -> None:
    not_in_forms = {"version", "ask", "id", "subject", "bytes", "data", "limit"}
    assert {*model.model_fields} - {*LABELS} <= not_in_forms


@pytest.mark.parametrize(
    ("bent", "name", "label"),
    [
        (
            {"name": "a b"},
            "name: expected letters, digits, dots, dashes and underscores, without spaces",
            "Name: expected letters, digits, dots, dashes and underscores, without spaces",
        ),
        ({"name": ""}, "name is empty", "Name is empty"),
        ({"name": "x" * 65}, "name: expected at most 64 characters", "Name: expected at most 64"),
        ({"token_role": "king"}, "token_role: expected 'viewer', 'operator' or", "Role: expected"),
        ({"own_password": ""}, "own_password is empty", "Your own password is empty"),
        ({"colour": 1}, "colour is not a field here", "colour is not a field here"),
    ],
)
def test_a_sentence_names_the_field_and_what_was_expected(
    bent: dict[str, object], name: str, label: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        AddToken.model_validate({"name": "probe", "own_password": "secret", **bent})
    assert sentence_of(caught.value).startswith(name)
    assert sentence_of(caught.value, LABELS).startswith(label)


def test_a_password_is_not_repeated() -> None:
    with pytest.raises(ValidationError) as caught:
        SetPassword.model_validate({"user": "anna", "password": "secret", "own_password": 812812})
    assert "812812" not in sentence_of(caught.value)


async def test_no_parameter_is_refused_in_a_programmer_s_words(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    description = (await client.get("/openapi.json")).json()
    refused = 0
    for path, operations in description["paths"].items():
        for parameter in operations.get("get", {}).get("parameters", ()):
            if parameter["in"] != "query" or "stream" in path:
                continue
            for value in ("", "-1", "odd", "9" * 40, "x" * 60_000):
                answer = await client.get(path, params={parameter["name"]: value})
                if answer.status_code == 422:
                    refused += 1
                    problem = ProblemDetail.model_validate(answer.json())
                    assert not PROGRAMMERS_WORDS.search(problem.detail), (path, problem.detail)
    assert refused > 30
