"""Hypothesis strategies for topics and filters, for the tests of the topic trees."""

from hypothesis import strategies as st

levels = st.sampled_from(["a", "b", "", "$s"])
names = st.lists(levels, min_size=1, max_size=4).map("/".join).filter(bool)


@st.composite
def filters(draw: st.DrawFn) -> str:
    parts = draw(st.lists(st.sampled_from(["a", "b", "", "$s", "+"]), min_size=1, max_size=4))
    if draw(st.booleans()):
        parts.append("#")
    return "/".join(parts) or "#"


def deep(number: int, level: str) -> str:
    return "/".join([str(number), *(f"{level}{depth}" for depth in range(127))])
