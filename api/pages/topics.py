"""The page that shows topics as a tree. It works without JavaScript."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from api import limits
from api.drawing.topic_tree import tree_of
from api.login.admission import VIEWERS
from api.models.topics import TopicPage
from api.pages.page import down_page, rendered
from api.rest.status import observer_of
from api.rest.topics import topics_for
from api.status.control_socket import BrokerProblem
from gateway.process.control.messages import Refused

topics_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_Topic = Annotated[str, Query(max_length=limits.TOPIC_CHARACTERS_MAX)]


@topics_page.get("/topics", dependencies=[Depends(VIEWERS)])
async def topics(
    request: Request,
    search: Annotated[str, Query(max_length=limits.SEARCH_CHARACTERS_MAX)] = "",
    below: _Topic = "",
    retained: bool = False,
    after: _Topic = "",
) -> Response:
    """Show the topics that match the filters. ``after`` is the last topic of the previous page."""
    chosen = {"search": search.strip(), "below": below}
    wanted = {**chosen, "retained": retained, "after": after, "limit": limits.TOPICS_PER_PAGE}
    try:
        overview = await observer_of(request).overview()
        page, problem = await topics_for(request, wanted), None
    except BrokerProblem as failure:
        return down_page(request, failure)
    except Refused as refusal:
        page, problem = TopicPage(topics=[], next=None), refusal.message
    query = {name: value for name, value in chosen.items() if value}
    return rendered(
        request,
        "topics.html",
        overview=overview,
        broker=overview.broker,
        now_ms=overview.broker.time_ms,
        denied=[each for each in overview.broker.denied_last_hour if each.rule is not None],
        tree=tree_of(page.topics, below=below),
        next=page.next,
        problem=problem,
        search=search.strip(),
        below=below,
        retained=retained,
        after=after,
        query=urlencode(query | ({"retained": "true"} if retained else {})),
    )
