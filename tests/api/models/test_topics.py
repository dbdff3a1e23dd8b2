"""The list of topics that viewers receive."""

from api.models.topics import TopicPage
from tests.api.recorded_topics import topics


def test_a_copy_for_viewers_has_no_payloads_and_everything_else() -> None:
    page = TopicPage.model_validate({"topics": topics(), "next": None})
    dumped = page.without_payloads().model_dump()
    messages = [each[kind] for each in dumped["topics"] for kind in ("retained", "latest")]
    shown = [each for each in messages if each is not None]
    assert {(each["text"], each["hex"]) for each in shown} == {(None, None)}
    assert [each["bytes"] for each in shown] == [2, 3, 2, 0, 4]
