"""REST routes for topics: list topics and, for operators, publish and clear messages."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request

from api import limits
from api.login.admission import OPERATORS, VIEWERS, Caller
from api.login.roles import Role
from api.models.topics import Cleared, ClearRetained, Published, PublishMessage, TopicPage
from api.problems import ADDRESS_TOO_LONG, described
from api.rest.actions import carried_out, given_in, takes
from api.rest.query_parameters import refuse_unknown
from api.rest.status import observer_of

topics_rest = APIRouter(prefix="/api/v1/topics", tags=["topics"])

_TEXT_MAX: Final = limits.TOPIC_CHARACTERS_MAX


async def topics_for(request: Request, wanted: dict[str, object]) -> TopicPage:
    """Return topics for the caller of a request. Viewers get no payloads.

    `wanted` contains JSON members for the broker's command `topics`. Raises BrokerProblem if the
    broker gave no usable response, or Refused if the broker refused the request.
    """
    caller: Caller | None = request.state.caller
    page = await observer_of(request).topics(wanted)
    if caller is None or caller.role >= Role.OPERATOR:
        return page
    return page.without_payloads()


@topics_rest.get(
    "",
    dependencies=[Depends(VIEWERS), Depends(refuse_unknown)],
    responses=described(401, 403, 422, 502, 503) | ADDRESS_TOO_LONG,
    summary="Topics with retained and latest messages, page by page",
)
async def topics(
    request: Request,
    *,
    search: Annotated[
        str,
        Query(max_length=limits.SEARCH_CHARACTERS_MAX, description="Part of the topic."),
    ] = "",
    below: Annotated[
        str, Query(max_length=_TEXT_MAX, description="Only this topic and those below it.")
    ] = "",
    retained: Annotated[bool, Query(description="Only topics with a retained message.")] = False,
    after: Annotated[
        str, Query(max_length=_TEXT_MAX, description="The `next` of the page before.")
    ] = "",
    limit: Annotated[
        int, Query(ge=1, le=limits.TOPICS_PER_REQUEST_MAX, description="Topics on a page.")
    ] = limits.TOPICS_PER_REQUEST_DEFAULT,
) -> TopicPage:
    """List topics with their retained message, and with the latest message if it is available.

    The latest message is available if it is in the last MiB of the journal. The journal contains
    only messages that are retained, logged, or queued for a persistent session.
    """
    wanted = {"search": search, "below": below, "retained": retained, "after": after}
    return await topics_for(request, {**wanted, "limit": limit})


@topics_rest.post(
    "/publish", summary="Publish a test message", **takes(OPERATORS, PublishMessage, 409)
)
async def publish(request: Request) -> Published:
    """Publish a message on behalf of the caller.

    Requires the role `operator` or `administrator`. The message is durable when the response is
    sent. The access rules apply as if the caller were connected to a listener named `@page`.
    """
    return await carried_out(request, "publish", await given_in(request, PublishMessage), Published)


@topics_rest.post(
    "/clear", summary="Clear a retained message", **takes(OPERATORS, ClearRetained, 404, 409)
)
async def clear(request: Request) -> Cleared:
    """Clear the retained message of a topic by publishing an empty retained message.

    Requires the role `operator` or `administrator`.
    """
    given = await given_in(request, ClearRetained)
    return await carried_out(request, "clear_retained", given, Cleared)
