"""REST routes with which administrators manage users and tokens.

The broker changes the files of users and tokens, because the page's process is not allowed to write
to these files.
"""

import time
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from api import limits
from api.login.admission import ADMINISTRATORS, gate_of
from api.models.users import (
    AddToken,
    AskedUsers,
    PasswordSet,
    ProgramToken,
    RemoveToken,
    RemoveUser,
    SetPassword,
    TokenAdded,
    TokenList,
    TokenRemoved,
    UserPage,
    UserRemoved,
)
from api.problems import ADDRESS_TOO_LONG, described
from api.rest.actions import carried_out, given_in, takes
from api.rest.query_parameters import refuse_unknown

users_rest = APIRouter(prefix="/api/v1", tags=["users"])


async def users_for(request: Request, query: AskedUsers) -> UserPage:
    """Return the users that match `query`, each with the user's role on the status page.

    Raises BrokerProblem if the broker gave no usable response, or Refused if the broker refused the
    request.
    """
    page = await carried_out(request, "users", query, UserPage)
    roles = gate_of(request).roles
    users = []
    for each in page.users:
        role = roles.of(each.username, ())
        users.append(each.model_copy(update={"role": None if role is None else role.word}))
    return UserPage(users=users, next=page.next)


def tokens_of(request: Request) -> TokenList:
    """Return the name, role and date of each program's API token, but no secret or hash."""
    file = gate_of(request).tokens
    if file is None:
        return TokenList(tokens=[], problem=None)
    tokens, problem = file.all(time.monotonic())
    shown = [ProgramToken(name=each.name, role=each.role, made=each.made) for each in tokens]
    return TokenList(tokens=shown, problem=problem)


@users_rest.get(
    "/users",
    dependencies=[Depends(ADMINISTRATORS), Depends(refuse_unknown)],
    responses=described(401, 403, 422, 502, 503) | ADDRESS_TOO_LONG,
    summary="Users of the broker, page by page",
)
async def users(
    request: Request,
    *,
    after: Annotated[
        str,
        Query(max_length=limits.USERNAME_BYTES_MAX, description="The `next` of the page before."),
    ] = "",
    limit: Annotated[
        int, Query(ge=1, le=limits.USERS_PER_REQUEST_MAX, description="Users on a page.")
    ] = limits.USERS_PER_PAGE,
) -> UserPage:
    """List the users in the password file, and other users with sessions or retained messages.

    Requires the role `administrator`.
    """
    return await users_for(request, AskedUsers(after=after, limit=limit))


@users_rest.get(
    "/tokens",
    dependencies=[Depends(ADMINISTRATORS), Depends(refuse_unknown)],
    responses=described(401, 403, 422),
    summary="Tokens of programs",
)
async def tokens(request: Request) -> TokenList:
    """List the tokens of programs by name, without their secrets.

    Requires the role `administrator`.
    """
    return tokens_of(request)


@users_rest.post(
    "/users/password", summary="Set a password", **takes(ADMINISTRATORS, SetPassword, 409)
)
async def set_password(request: Request) -> PasswordSet:
    """Add a user, or replace the user's password.

    The caller must be an administrator who is logged in. A program's token is not accepted. The
    configuration is reloaded. Status 409 means that the broker does not have permission to write
    the password file.
    """
    given = await given_in(request, SetPassword)
    return await carried_out(request, "set_password", given, PasswordSet)


@users_rest.post(
    "/users/remove", summary="Remove a user", **takes(ADMINISTRATORS, RemoveUser, 404, 409)
)
async def remove_user(request: Request) -> UserRemoved:
    """Remove a user from the password file, and close the user's connections.

    Requires the role `administrator`.
    """
    given = await given_in(request, RemoveUser)
    return await carried_out(request, "remove_user", given, UserRemoved)


@users_rest.post("/tokens/add", summary="Add a token", **takes(ADMINISTRATORS, AddToken, 409))
async def add_token(request: Request) -> TokenAdded:
    """Create a token for a program, and return it. The token cannot be displayed again later.

    The caller must be an administrator who is logged in. A program's token is not accepted. The new
    token becomes valid within a second. Status 409 means that the broker does not have permission
    to write the token file, or that the name is already used.
    """
    return await carried_out(request, "add_token", await given_in(request, AddToken), TokenAdded)


@users_rest.post(
    "/tokens/remove", summary="Remove a token", **takes(ADMINISTRATORS, RemoveToken, 404, 409)
)
async def remove_token(request: Request) -> TokenRemoved:
    """Remove a token of a program. Requires the role `administrator`.

    The token stops working within a second.
    """
    given = await given_in(request, RemoveToken)
    return await carried_out(request, "remove_token", given, TokenRemoved)
