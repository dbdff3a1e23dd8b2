"""Arguments for the list of users."""

import pytest
from pydantic import ValidationError

from api import limits
from api.models.users import AskedUsers


@pytest.mark.parametrize(
    "given",
    [{"limit": 0}, {"limit": limits.USERS_PER_REQUEST_MAX + 1}, {"after": "x" * 1025}, {"to": ""}],
)
def test_arguments_are_bounded_and_known(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        AskedUsers.model_validate(given)
