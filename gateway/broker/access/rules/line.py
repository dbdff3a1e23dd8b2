"""Parses one line of the access rules file into words and actions.

An error in a line raises `Mistake`, whose message contains the fix.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

from gateway.broker.access.rules.rule import CONNECT, RECEIVE, publish_kind, subscribe_kind
from gateway.broker.wire.topics import is_shared_filter

ACTIONS: Final = ("connect", "publish", "subscribe", "receive", "all")
WHO: Final = ("user", "group", "anonymous", "anyone", "client", "listener")
CONDITIONS: Final = (*WHO, "qos", "retain")

_WORD = re.compile(r'"((?:[^"\\]|\\["\\])*)"(?=[ \t]|$)|([^ \t"]+)(?=[ \t]|$)')
_ESCAPED = re.compile(r'\\(["\\])')
_SHOWN_CHARACTERS_MAX: Final = 60
_SUGGESTED_AMONG_MAX: Final = 1_000
"""Known names that are compared with an unknown word to make a suggestion, at most."""


class Mistake(Exception):
    """Error in one line of the rules file. The message contains the fix."""


def actions_of(words: list[str], position: int) -> list[str]:
    """Return the actions listed in the word at `position`.

    Raises Mistake if the word is missing or an action is invalid.
    """
    if position >= len(words):
        raise Mistake(f"names no action: use one of {', '.join(ACTIONS)}")
    actions = words[position].split(",")
    for action in actions:
        if action not in ACTIONS:
            known = f"use a condition ({', '.join(CONDITIONS)}) or {', '.join(ACTIONS)}"
            fix = nearest(action, (*ACTIONS, *CONDITIONS), known)
            raise Mistake(f"{shown(action)} is no action: {fix}")
    return actions


def refuse_comment(words: list[str]) -> None:
    """Raise Mistake if a comment follows a line's patterns or users.

    The `#` before it would count as the pattern for all topics. `#` does not cover topics that
    begin with `$`, so that patterns for them may follow it.
    """
    after = words[words.index("#") + 1 :] if "#" in words else []
    if any(not word.startswith("$") for word in after):
        raise Mistake("has words after #: put a comment on a line of its own")


def kinds_of(
    allow: bool, actions: list[str], patterns: list[str], conditions: Mapping[str, str]
) -> int:
    """Return the actions that a rule covers, as a bit mask.

    Raises Mistake if the actions cannot be combined with each other, or with the patterns or
    conditions.
    """
    everything = "all" in actions
    publishes = everything or "publish" in actions
    subscribes = everything or "subscribe" in actions
    if patterns and actions == ["connect"]:
        raise Mistake("connect has no topics: take them out, or use another action")
    if not patterns and not everything and actions != ["connect"]:
        raise Mistake(f"names no topics after {','.join(actions)}: use # for all")
    if "connect" in actions and len(actions) > 1:
        raise Mistake("connect has no topics: use a line of its own for it")
    if actions != ["subscribe"] and any(map(is_shared_filter, patterns)):
        raise Mistake("$share/GROUP/FILTER is about subscribe alone: use a line of its own for it")
    if "qos" in conditions and not (publishes or subscribes):
        raise Mistake("qos belongs to publish and subscribe: take it out")
    if "retain" in conditions and not publishes:
        raise Mistake("retain belongs to publish: take it out")
    qos, retain = _qos_of(conditions.get("qos")), _retain_of(conditions.get("retain"))
    kinds = CONNECT if "connect" in actions or (everything and not patterns) else 0
    if publishes:
        kinds |= sum(publish_kind(each, flag) for each in qos for flag in retain)
    if subscribes:
        kinds |= sum(subscribe_kind(each) for each in qos)
    # A client that may subscribe also receives the messages, whatever their QoS. So a deny rule for
    # only some QoS does not deny receiving.
    if "receive" in actions or (subscribes and (allow or "qos" not in conditions)):
        kinds |= RECEIVE
    return kinds


def _qos_of(written: str | None) -> list[int]:
    if written is None:
        return [0, 1, 2]
    chosen = written.split(",")
    if not set(chosen) <= {"0", "1", "2"}:
        raise Mistake(f"qos {shown(written)}: use 0, 1 or 2, or several, as in 0,1")
    return sorted({int(each) for each in chosen})


def _retain_of(written: str | None) -> list[bool]:
    if written is None:
        return [False, True]
    if written not in ("yes", "no"):
        raise Mistake(f"retain {shown(written)}: use yes or no")
    return [written == "yes"]


def text_of(raw: bytes) -> str:
    """Decode a line and strip the surrounding spaces.

    Raises Mistake if the line is not UTF-8 or contains a null character.
    """
    try:
        text = raw.decode().removesuffix("\r")
    except UnicodeDecodeError:
        raise Mistake("is not UTF-8: save the file as UTF-8") from None
    if "\0" in text:
        raise Mistake("has a null character in it")
    return text.strip(" \t")


def words_of(text: str) -> list[str]:
    """Split a line into words. Double quotes group several words into one word.

    Raises Mistake if a double quote is missing.
    """
    words: list[str] = []
    position = 0
    while position < len(text):
        match = _WORD.match(text, position)
        if match is None:
            raise Mistake('a double quote has no partner: write "a b", and \\" for a quote')
        quoted, plain = match.groups()
        words.append(plain if quoted is None else _ESCAPED.sub(r"\1", quoted))
        position = match.end()
        while position < len(text) and text[position] in " \t":
            position += 1
    return words


def quoted(word: str) -> str:
    """Return a word as it is written in a line of the rules file, with quotes if necessary."""
    if word and not any(character in ' \t"' for character in word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def pattern_for(topic: str) -> str:
    """Return a topic or topic filter as it is written in a rule, with "%" escaped."""
    return quoted(topic.replace("%", "%%"))


def rule_allowing(action: str, topic: str, username: str | None, *, otherwise: str) -> str:
    """Return a line for a rules file that allows an action of a user.

    `action` is `publish` or `subscribe`. `otherwise` is the condition of the rule if `username` is
    None, such as `anonymous`.
    """
    who = otherwise if username is None else f"user {quoted(username)}"
    return f"allow {who} {action} {pattern_for(topic)}"


def nearest(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return a suggestion for an unknown word: the closest known word, or `otherwise`."""
    if len(word) > _SHOWN_CHARACTERS_MAX:
        return otherwise
    import difflib  # noqa: PLC0415 - only for an error message

    names = list(islice(known, _SUGGESTED_AMONG_MAX))
    found = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return f'did you mean "{found[0]}"?' if found else otherwise


def shown(word: str) -> str:
    """Return a word of the rules file for use in a message, shortened and escaped to ASCII."""
    is_long = len(word) > _SHOWN_CHARACTERS_MAX
    return ascii(word[: _SHOWN_CHARACTERS_MAX - 3] + "..." if is_long else word)
