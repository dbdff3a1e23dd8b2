"""Roles from the groups that a token or a database row lists for a user."""

from pathlib import Path

from api.login.roles import Role
from tests.api.contract_broker import ContractBroker
from tests.api.logging_in import is_in, log_in, page_with_users


async def test_a_member_of_a_group_has_its_role_until_the_proof_ends(
    broker: ContractBroker, status_socket: Path
) -> None:
    broker.groups = {"sensor": ["other", "house"]}
    groups = {"house": Role.OPERATOR}
    async with page_with_users(broker, status_socket, roles={}, group_roles=groups) as browser:
        assert (await log_in(browser, "anna")).status_code == 403, "a user of no group"
        assert (await log_in(browser, "sensor")).status_code == 303
        assert await is_in(browser)
        broker.seconds = 0.0
        assert (await log_in(browser, "sensor")).status_code == 303
        assert not await is_in(browser), "a token that expires ends its login"


async def test_a_token_of_some_kibibytes_goes_into_the_form(
    broker: ContractBroker, status_socket: Path
) -> None:
    token = "x.é/" * 1_600
    async with page_with_users(broker, status_socket) as browser:
        broker.users["anna"] = (token, "1")
        assert (await log_in(browser, "anna", token)).status_code == 303
