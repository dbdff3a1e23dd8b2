"""Converts a Mosquitto ACL file to Oncegate's access rules.

In Mosquitto, a `deny` line takes precedence over all other lines that apply to the same client,
even over earlier lines. A topic that no line allows is denied. `topic` lines before the first
`user` line apply to clients without a user. `topic` lines after a `user` line apply to that user.
`pattern` lines apply to every client.
"""

import codecs

from gateway.broker.access.rules.file import FILE_BYTES_MAX, RulesFileError
from gateway.broker.access.rules.line import Mistake, quoted, shown
from gateway.broker.access.rules.topic_patterns import pattern_error

_ACTIONS = {
    "read": "subscribe",
    "write": "publish",
    "readwrite": "publish,subscribe",
    "deny": "all",
}


def rules_text_of(content: bytes, name: str) -> str:
    """Convert the contents of a Mosquitto ACL file to the text of a rules file.

    Raises RulesFileError if a line is invalid. `name` is the file's name in messages.
    """
    if len(content) > FILE_BYTES_MAX:
        raise RulesFileError([f"{name}: longer than {FILE_BYTES_MAX} bytes"])
    who = "anonymous"
    problems: list[str] = []
    rules: dict[str, list[str]] = {"deny": [], "allow": []}
    for number, raw in enumerate(content.removeprefix(codecs.BOM_UTF8).split(b"\n"), start=1):
        try:
            line = raw.decode().strip()
            if not line or line.startswith("#"):
                continue
            keyword, _, rest = line.partition(" ")
            if keyword == "user" and rest.strip():
                who = f"user {quoted(rest.strip())}"
            else:
                word, rule = _rule_of(keyword, rest.strip(), who)
                rules[word].append(rule)
        except UnicodeDecodeError:
            problems.append(f"{name}: line {number}: is not UTF-8: save the file as UTF-8")
        except Mistake as mistake:
            problems.append(f"{name}: line {number}: {mistake}")
    if problems:
        raise RulesFileError(problems)
    lines = [f"# from {name}", *(f"{word} {each}" for word in rules for each in rules[word])]
    lines.append("allow anyone connect")  # ACL files have no rule for connecting
    return "".join(f"{line}\n" for line in lines)


def _rule_of(keyword: str, rest: str, who: str) -> tuple[str, str]:
    """Convert a line to a rule. Return `allow` or `deny`, and the other words of the rule.

    `rest` is the line after `keyword`. `who` is the client condition from the latest `user` line.
    Raises Mistake if the line is invalid.
    """
    if keyword not in ("topic", "pattern") or not rest:
        raise Mistake("is no line of an acl file: use user, topic or pattern")
    access, topic = _access_of(rest)
    if keyword == "topic":
        topic = topic.replace("%", "%%")
    error = pattern_error(topic)
    if error is not None:
        raise Mistake(f"{shown(topic)}: {error}")
    about = who if keyword == "topic" else "anyone"
    word = "deny" if access == "deny" else "allow"
    return word, f"{about} {_ACTIONS[access]} {quoted(topic)}"


def _access_of(rest: str) -> tuple[str, str]:
    """Return the access mode and the topic in `rest`, a line without its keyword.

    The topic may contain spaces.
    """
    first, _, topic = rest.partition(" ")
    if first in _ACTIONS and topic.strip():
        return first, topic.strip()
    return "readwrite", rest
