r"""The access rules file: one rule per line. The first matching line decides::

    # a comment is a line that begins with #
    group operators = anna ben

    allow group operators publish,subscribe cellar/#
    deny  user attic                publish    attic/secret
    allow user *   qos 0,1 retain no  publish  users/%u/#
    allow client sensor-* listener 127.0.0.1:*  all  sensors/#

    allow|deny WHO... [qos 0,1,2] [retain yes|no] ACTION[,ACTION...] [PATTERN...]

Words are separated by spaces. A word in double quotes may contain spaces, and also `"` and `\` if
they are escaped with `\`. docs/access.md explains each part. `parse` reports all mistakes in a
file, each with its line and the fix.
"""

import codecs
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.broker.access.errors import AccessFileError
from gateway.broker.access.rules.line import (
    ACTIONS,
    CONDITIONS,
    WHO,
    Mistake,
    actions_of,
    kinds_of,
    nearest,
    refuse_comment,
    shown,
    text_of,
    words_of,
)
from gateway.broker.access.rules.rule import ClientConditions, ClientPattern, Rule
from gateway.broker.access.rules.topic_patterns import has_placeholder, pattern_error

FILE_BYTES_MAX: Final = 1 << 20
"""Size of the file, at most: 10,000 lines of a hundred bytes."""
RULES_MAX: Final = 10_000
PATTERNS_MAX: Final = 50_000
"""Total of the patterns in all rules and the users in all groups, at most. Repeats count too."""
PLACEHOLDER_RULES_MAX: Final = 100
"""Rules with %u or %c, at most, because their patterns are built for each client."""
PROBLEMS_MAX: Final = 100
"""Mistakes that are reported together, at most."""


class RulesFileError(AccessFileError):
    """Error raised if the rules file is invalid. `problems` has one line for each mistake."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True, slots=True)
class RulesFile:
    """Parsed contents of an access rules file."""

    rules: tuple[Rule, ...]
    groups: Mapping[str, frozenset[str]]
    text: str
    name: str
    """Name of the file for messages: its path."""


def load(path: Path) -> RulesFile:
    """Load a rules file. Raises RulesFileError if the file cannot be read or is invalid."""
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
            mode = os.fstat(file.fileno()).st_mode
    except OSError as error:
        fix = "make it, or take rules_file out of [access]"
        raise RulesFileError([f"{path}: cannot be read: {error.strerror}; {fix}"]) from error
    if mode & stat.S_IWOTH:
        raise RulesFileError([f"{path}: anyone may write to it. Run chmod o-w {path}"])
    return parse(content, str(path))


def parse(content: bytes, name: str) -> RulesFile:
    """Parse the contents of a rules file. Raises RulesFileError if the contents are invalid.

    `name` is the file's name in messages.
    """
    if len(content) > FILE_BYTES_MAX:
        raise RulesFileError([f"{name}: longer than {FILE_BYTES_MAX} bytes"])
    # Editors on Windows begin a file with a byte order mark.
    return _Parser(name).parse(content.removeprefix(codecs.BOM_UTF8))


class _Parser:
    def __init__(self, name: str) -> None:
        self._name = name
        self._problems: list[tuple[int, str]] = []
        self._groups: dict[str, set[str]] = {}
        self._rules: list[Rule] = []
        self._patterns = 0
        self._placeholder_rules = 0

    def parse(self, content: bytes) -> RulesFile:
        lines: list[tuple[int, str, list[str]]] = []
        for number, raw in enumerate(content.split(b"\n"), start=1):
            try:
                text = text_of(raw)
                words = [] if text.startswith("#") else words_of(text)
                if words and words[0] == "group":
                    self._add_group(words)
                elif words:
                    lines.append((number, text, words))
            except Mistake as mistake:
                self._report(number, mistake)
        # Groups may be defined anywhere in the file, so rules are parsed after all groups.
        for number, text, words in lines:
            try:
                self._add_rule(number, text, words)
            except Mistake as mistake:
                self._report(number, mistake)
        if self._problems:
            raise RulesFileError(_ordered(self._problems))
        groups = {group: frozenset(members) for group, members in self._groups.items()}
        return RulesFile(tuple(self._rules), groups, content.decode(errors="replace"), self._name)

    def _report(self, line: int, mistake: Mistake) -> None:
        self._problems.append((line, f"{self._name}: line {line}: {mistake}"))

    def _count(self, patterns: int) -> None:
        self._patterns += patterns
        if self._patterns > PATTERNS_MAX:
            raise Mistake(f"more than {PATTERNS_MAX} patterns and members of groups in one file")

    def _add_group(self, words: list[str]) -> None:
        if len(words) < 3 or words[2] != "=":
            raise Mistake("is no group: use group NAME = USER USER...")
        refuse_comment(words[3:])
        self._count(len(words) - 3)
        # A group may be defined in several lines, which is easier to read if it is long.
        self._groups.setdefault(words[1], set()).update(words[3:])

    def _add_rule(self, number: int, text: str, words: list[str]) -> None:
        if words[0] not in ("allow", "deny"):
            raise Mistake(
                f"begins with {shown(words[0])}: "
                f"{nearest(words[0], ('allow', 'deny', 'group'), 'use allow, deny or group')}"
            )
        if len(self._rules) >= RULES_MAX:
            raise Mistake(f"more than {RULES_MAX} rules in one file")
        conditions, position = self._conditions_of(words)
        actions, patterns = actions_of(words, position), words[position + 1 :]
        refuse_comment(patterns)
        for pattern in patterns:
            error = pattern_error(pattern)
            if error is not None:
                raise Mistake(f"{shown(pattern)}: {error}")
        kinds = kinds_of(words[0] == "allow", actions, patterns, conditions)
        self._count(len(patterns))
        if any(has_placeholder(pattern) for pattern in patterns):
            self._placeholder_rules += 1
            if self._placeholder_rules > PLACEHOLDER_RULES_MAX:
                raise Mistake(f"more than {PLACEHOLDER_RULES_MAX} rules with %u or %c")
        self._rules.append(
            Rule(
                number,
                text.strip(),
                words[0] == "allow",
                self._who_of(conditions),
                kinds,
                tuple(patterns) or None,
            )
        )

    def _conditions_of(self, words: list[str]) -> tuple[dict[str, str], int]:
        """Return a rule's conditions with their values, and the index of the word after them.

        Raises Mistake if the conditions are invalid.
        """
        conditions: dict[str, str] = {}
        position = 1
        while position < len(words) and words[position] in CONDITIONS:
            name = words[position]
            if name in conditions:
                raise Mistake(f"{name} is listed twice: use one line for each")
            has_value = name not in ("anonymous", "anyone")
            if has_value and position + 1 >= len(words):
                raise Mistake(f"nothing follows {name}")
            conditions[name] = words[position + 1] if has_value else ""
            position += 2 if has_value else 1
        named = [name for name in ("user", "group", "anonymous", "anyone") if name in conditions]
        if len(named) > 1:
            raise Mistake(f"{' and '.join(named)} are about different clients: use one of them")
        if not any(name in conditions for name in WHO):
            word = words[position] if position < len(words) else ""
            fix = "use user NAME, user *, group NAME, anonymous, anyone, client ID or listener"
            hint = nearest(word, CONDITIONS, "") if word not in ACTIONS else ""
            raise Mistake(f"does not say whom it is about: {hint or fix}")
        return conditions, position

    def _who_of(self, conditions: Mapping[str, str]) -> ClientConditions:
        user, group = conditions.get("user"), conditions.get("group")
        if group is not None and group not in self._groups:
            fix = nearest(group, self._groups, f"add a line: group {group} = USER...")
            raise Mistake(f"there is no group {shown(group)}: {fix}")
        named = None
        if user == "*" or "anonymous" in conditions:
            named = user == "*"
        client, listener = conditions.get("client"), conditions.get("listener")
        return ClientConditions(
            None if user == "*" else user,
            named,
            None if group is None else frozenset(self._groups[group]),
            group,
            None if client is None else ClientPattern(client),
            None if listener is None else ClientPattern(listener),
        )


def _ordered(problems: list[tuple[int, str]]) -> list[str]:
    lines = [problem for _, problem in sorted(problems)]
    if len(lines) <= PROBLEMS_MAX:
        return lines
    return [*lines[:PROBLEMS_MAX], f"and {len(lines) - PROBLEMS_MAX} more mistakes"]
