"""The index of decisions: by theme, with what is in force and what revised it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parent / "decisions"
PAGE: Final = FOLDER / "README.md"
FIGURES: Final = FOLDER / "measured.md"
THEMES: Final = {
    "MQTT": (5, 6, 7, 8, 10, 14, 31, 34, 48, 50, 100, 148, 155),
    "Journal, recovery and time": (3, 4, 9, 40, 42, 43, 44, 45, 46, 49, 57, 59, 77, 87, 143, 157),
    "Disk and memory": (51, 53, 54, 55, 58, 147),
    "Load and scheduling": (52, 66, 101, 146, 153, 154),
    "Users, rights and TLS": (
        *(21, 24, 63, 78, 81, 84, 90, 91, 92, 93, 94, 95, 97, 103, 116, 117, 118, 119, 120, 121),
    ),
    "Sensors and serial lines": (
        *(1, 60, 61, 62, 74, 106, 107, 108, 110, 111, 114, 115, 123, 124, 125, 126, 128, 129),
        *(142, 161, 162, 163, 169, 170, 171, 172, 176),
    ),
    "Segments, uplink and tenants": (2, 13, 41, 88, 98, 99, 166),
    "Page, metrics and hooks": (11, 27, 64, 96, 127, 144, 156, 173, 174, 175, 177, 178, 180),
    "Tables": (
        *(65, 80, 104, 112, 113, 130, 131, 132, 133, 134, 135, 136, 137, 138, 145, 149, 150, 151),
        *(152, 158, 159, 160, 164, 165, 167, 186, 188, 189, 190, 191, 192, 193, 194),
    ),
    "Configuration and processes": (12, 16, 17, 67, 75, 76, 102, 181),
    "Card, packages and container": (68, 69, 70, 71, 72, 73, 184, 185),
    "Code, build and tests": (15, 30, 33, 36, 38, 79, 139, 140, 141, 168, 179, 182, 183, 187),
}
"""Numbers of the decisions. Each is in one theme, and a new one needs its place here."""
INTRODUCTION: Final = """# Decisions

Choices that could have been made otherwise, one page each: the question, the decision and its
consequences. A later decision that changes a part of an earlier one is named here. `make docs`
writes this index from the pages. The figures of some are in [one log](measured.md).
"""
STATUS: Final = re.compile(r"^Date: [\d-]+\. Status: (.*?)\n\n", re.MULTILINE | re.DOTALL)
LINK: Final = re.compile(r"\]\((\d{4})-[a-z0-9-]+\.md\)")
REVISES: Final = re.compile(
    r"\b(?:revises|replaces|supersedes|narrows|changes|takes the place of)\b[^.]*?(?:\.md[^.]*)*"
    r"(?=\.(?:\s|$))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Decision:
    """One page: its number, file name, title and the paragraph of its status."""

    number: int
    name: str
    title: str
    status: str

    @property
    def revised(self) -> frozenset[int]:
        """Earlier decisions that this one changes."""
        links = LINK.findall(" ".join(REVISES.findall(self.status)))
        return frozenset(int(each) for each in links if int(each) < self.number)

    @property
    def revisions(self) -> frozenset[int]:
        """Later decisions that the page itself names in its status."""
        return frozenset(int(each) for each in LINK.findall(self.status) if int(each) > self.number)

    @property
    def is_superseded(self) -> bool:
        """True if nothing of the decision is in force."""
        return self.status.startswith("superseded by ")


def decisions() -> dict[int, Decision]:
    """Return all decisions by number."""
    return {int(path.name[:4]): decision_in(path) for path in sorted(FOLDER.glob("[0-9]*.md"))}


def decision_in(path: Path) -> Decision:
    """Read a page.

    Raises:
        ValueError: the page does not begin with its number, title and status.
    """
    text = path.read_text()
    title = re.match(r"# (\d+)\. (.+)\n", text)
    status = STATUS.search(text)
    if title is None or status is None or int(title[1]) != int(path.name[:4]):
        raise ValueError(f"{path.name}: begin with '# N. Title' and 'Date: ... Status: ...'")
    return Decision(int(title[1]), path.name, title[2], status[1])


def index_page() -> str:
    """Return the index."""
    found = decisions()
    parts = [INTRODUCTION]
    for theme, numbers in THEMES.items():
        rows = "".join(_row(found[number], found) for number in sorted(numbers))
        parts.append(f"## {theme}\n\n| | decision | status |\n|---|---|---|\n{rows}")
    return "\n".join(parts)


def _row(decision: Decision, found: dict[int, Decision]) -> str:
    later = set(decision.revisions)
    later |= {each.number for each in found.values() if decision.number in each.revised}
    links = ", ".join(f"[{number}]({found[number].name})" for number in sorted(later))
    status = "superseded by" if decision.is_superseded else "revised by" if later else "in force"
    return (
        f"| {decision.number} | [{decision.title}]({decision.name}) | {status} {links}".rstrip()
        + " |\n"
    )
