"""Sphinx settings for the documentation site (`make docs`).

The sources are the checkout's own Markdown files where they are, so that a link works on a code
host and on the site alike. `docs/index.md` is the navigation: each heading of its second level is
a group, and each link below it a page.
"""

import re
from typing import Any, Final

project = "Oncegate"
copyright = "The Oncegate authors, Apache License 2.0"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/**.md",
    "image/README.md",
    "image/container/README.md",
    "firmware-bridge/firmware/README.md",
]
# Folders that are not searched for pages.
exclude_patterns = [
    ".*",
    "build",
    "dist",
    "var",
    "tests",
    "gateway",
    "api",
    "cloud_jobs",
    "firmware-bridge/firmware_bridge",
    "image/device",
]
myst_heading_anchors = 4
# Examples are written as they are typed: not every block is a whole document of its language.
# A heading may skip a level.
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
html_theme = "furo"
html_title = "Oncegate"
html_copy_source = False
html_show_sphinx = False
html_additional_pages = {"index": "start.html"}
templates_path = ["site"]

INDEX: Final = "docs/index"
GROUP: Final = re.compile(r"^## (.+)$", re.MULTILINE)
DECISION: Final = re.compile(r"docs/decisions/(?!README)")
"""Reached through their own index: 150 of them would fill the navigation of each page."""
PAGE: Final = re.compile(r"\[([^\]]+)\]\((?!\w+:)([^)#\s]+)\.md\)")
"""A link to another page: its words, and the page."""


def navigation_of(index: str) -> str:
    """Return the site's navigation in Sphinx's own form, from the headings and links of a page."""
    _, *groups = GROUP.split(index)
    trees = []
    for caption, text in zip(groups[::2], groups[1::2], strict=True):
        pages = "\n".join(f"{title} </docs/{page}>" for title, page in PAGE.findall(text))
        trees.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{pages}\n```\n")
    return "\n".join(trees)


def _add_navigation(_application: Any, page: str, source: list[str]) -> None:
    if page == INDEX:
        source[0] += "\n" + navigation_of(source[0])
    elif DECISION.match(page):
        source[0] = "---\norphan: true\n---\n" + source[0]


def setup(application: Any) -> dict[str, Any]:
    """Connect the navigation to the reading of the index."""
    application.connect("source-read", _add_navigation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
