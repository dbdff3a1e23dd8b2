"""Sizes of modules and functions, a test file for each module, and words to avoid."""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The folder of each part, and where its tests are.
PARTS = {
    "gateway": "tests",
    "firmware-bridge/firmware_bridge": "tests/bridge",
    "api": "tests/api",
    "cloud_jobs": "tests/cloud_jobs",
    "image/device/oncegate_device": "tests/image/device",
}
MODULE_LINES_MAX = 300
FUNCTION_LINES_MAX = 40
# Longer functions, which must not grow: one line per attribute or option, or a loop in which a call
# would cost more time per message than a line costs its reader.
LONGER_FUNCTIONS = {
    "gateway/cli/tools/bench.py: bench": 92,
    "gateway/broker/core/core.py: __init__": 44,
    "gateway/broker/core/limits.py: __init__": 58,
    "gateway/broker/core/rules/publish/admission.py: refusal_of": 46,
    "gateway/broker/core/rules/connect/admit.py: admit": 50,
    "gateway/broker/core/rules/deliver/deliver.py: deliver_qos0": 44,
    "gateway/broker/core/rules/dispatch.py: receive": 43,
    "gateway/broker/core/rules/publish/publish.py: receive_publish": 50,
    "gateway/broker/core/sessions/connection.py: __init__": 70,
    "gateway/broker/core/sessions/session.py: __init__": 62,
    "gateway/broker/store/recovery.py: recover": 60,
    "gateway/broker/wire/decoder.py: _read_packets": 46,
    "gateway/broker/wire/publish_decoder.py: decode_publish": 52,
}
# Modules without behaviour of their own: constants, declarations, compositions.
WITHOUT_TESTS = {
    "api/alarms/alarm.py",
    "api/alarms/conditions/thresholds.py",
    "api/connections/certificate_files.py",
    "api/limits.py",
    "api/models/alarms.py",
    "api/models/bridge.py",
    "api/models/broker.py",
    "api/models/events.py",
    "api/models/configuration.py",
    "api/models/history.py",
    "api/models/home_assistant.py",
    "api/models/network.py",
    "api/models/reports.py",
    "api/models/sensors.py",
    "api/models/sessions.py",
    "api/models/updates.py",
    "api/models/uplink.py",
    "api/models/uploader.py",
    "api/settings.py",
    "cloud_jobs/fleet_report/limits.py",
    "cloud_jobs/limits.py",
    "cloud_jobs/settings.py",
    "gateway/broker/access/errors.py",
    "gateway/broker/access/users/source.py",
    "gateway/cli/tools/bench_options.py",
    "gateway/broker/core/core.py",
    "gateway/broker/core/records/record.py",
    "gateway/broker/core/when_full.py",
    "gateway/broker/core/word.py",
    "gateway/broker/core/sessions/owner.py",
    "gateway/broker/server/commit/outcomes.py",
    "gateway/broker/server/listeners/policy.py",
    "gateway/broker/server/status/warning.py",
    "gateway/uploader/upload/target_error.py",
    "gateway/broker/store/tables.py",
    "gateway/broker/wire/limits.py",
    "gateway/hooks.py",
}
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(
        path
        for folder in ("docs", "firmware-bridge", "image", "tests")
        for path in sorted((ROOT / folder).rglob("*.md"))
        if "node_modules" not in path.parts
    ),
]
# Words for which there is always a better one, also as a part of a name; `"told"` is a field of the
# control socket.
WORDS = re.compile(
    r"\b(nobody|somebody|whoever|for ever|anew|tells|hears|says|at once|the shell"
    r"|(?<!\")told|told(?!\"))\b",
    re.IGNORECASE,
)
# A docstring is a command (functions) or a noun phrase (classes, modules, properties, attributes).
OPENINGS = re.compile(r"(Whether|Let|Have|Who|Whose|Which|What|Where|How|That|Of|To a)\b")
OPENINGS_OF_ATTRIBUTES = re.compile(r"(Whether|Let|Have|Who|Whose|Which|What|Where|That|Of|To a)\b")
# Dialect: words from this project's first years for which English has a plain one.
DIALECT = re.compile(
    r"\b(stands?(?! for\b)|go(es)? on|gone on|behind (the|its?|them|which|what|each)|so many"
    r"|as it comes|what is left|what there is|all the same|mend(s|ed)?|want of|bears"
    r"|looks? at|looked at|taken for|see to it)\b",
    re.IGNORECASE,
)
QUOTED = re.compile(r"``?[^`]*``?")
LINKED = re.compile(r"\]\([^)]*\)|tests/[\w/]+\.py(: [\w, ]+)?")
# Words that left the names for good: free, skip, yield, drop, fix, check and after replace them.
WORDS_FOR_NAMES = re.compile(
    r"(^|_)(let_go|says?_why|heard|hears?|gives?_way|gave_way|giving_way|mends?|pass(ed)?_over"
    r"|looks?|looked|behind|beside|go(es)?_on|left_out|leaves?_out|puts?_off|put_aside|comes?_back"
    r"|goodbye|takes?_back|takes?_up|brings?_(back|about)|stays?_away)(_|$)"
)
# Names in a test are sentences, whose words are checked. Names from other parts are not its own.
NAMES_OF_OTHERS = {"DATAGRAMS_AT_ONCE_MAX"}

# This file contains the words.
WITH_THE_WORDS = Path("tests/architecture/test_tidy.py")
# A string after such a token is a separate statement: a docstring.
STATEMENT_BEGINS = (tokenize.ENCODING, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def modules() -> list[Path]:
    """Return the product's modules, relative to the root."""
    return sorted(path.relative_to(ROOT) for part in PARTS for path in (ROOT / part).rglob("*.py"))


def paths_of_tests() -> list[Path]:
    """Return the tests, relative to the root, except for this file."""
    paths = [path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py")]
    return sorted(path for path in paths if path != WITH_THE_WORDS)


def long_functions_in(path: Path) -> Iterator[tuple[str, int]]:
    """Yield functions that are longer than the limit, with their number of lines."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield f"{path}: {node.name}", lines


def test_no_module_is_longer_than_it_may_be() -> None:
    tests = [path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py")]
    lengths = {str(path): (ROOT / path).read_text().count("\n") for path in modules() + tests}
    found = {path: lines for path, lines in lengths.items() if lines > MODULE_LINES_MAX}
    assert found == {}


def test_no_function_is_longer_than_it_may_be() -> None:
    lengths = dict(each for path in modules() for each in long_functions_in(path))
    found = {
        name: lines for name, lines in lengths.items() if lines > LONGER_FUNCTIONS.get(name, 0)
    }
    assert found == {}
    assert [each for each in LONGER_FUNCTIONS if each not in lengths] == []


def test_every_module_has_a_test_file_of_its_name_at_its_place() -> None:
    missing = set()
    for part, tests in PARTS.items():
        for path in (ROOT / part).rglob("*.py"):
            if path.name not in ("__init__.py", "__main__.py"):
                place = path.relative_to(ROOT / part)
                if not (ROOT / tests / place.parent / f"test_{place.name}").exists():
                    missing.add(str(path.relative_to(ROOT)))
    assert missing == WITHOUT_TESTS


def lines_with_other_words(path: Path) -> Iterator[str]:
    """Yield lines of a file that contain a word to avoid, each with its place."""
    for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        if WORDS.search(line):
            yield f"{path}:{number}: {line}"


# One test for all files: collecting 3,000 tests of 10 ms takes longer than running them.
def test_modules_are_written_in_the_house_s_words() -> None:
    assert [line for path in modules() for line in lines_with_other_words(path)] == []


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield names (as words), comments and docstrings of a test, with their line numbers.

    Other strings are data: payloads, user names, output of programs.
    """
    before = tokenize.NEWLINE
    with (ROOT / path).open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.NAME and token.string not in NAMES_OF_OTHERS:
                yield token.start[0], token.string.replace("_", " ")
            elif token.type == tokenize.COMMENT or (
                token.type == tokenize.STRING and before in STATEMENT_BEGINS
            ):
                yield token.start[0], token.string
            if token.type not in (tokenize.NL, tokenize.COMMENT):
                before = token.type


def unplain_docstrings_in(path: Path) -> Iterator[str]:
    """Yield docstrings with an opening or a word that the list refuses, also of attributes."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        statements = getattr(node, "body", None)
        for index, each in enumerate(statements if isinstance(statements, list) else ()):
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                text = str(each.value.value)
                opening = OPENINGS_OF_ATTRIBUTES if index else OPENINGS
                if opening.match(text) or DIALECT.search(QUOTED.sub("", text)):
                    yield f"{path}:{each.lineno}: {text}"


def may_have_unplain_comments(path: Path) -> bool:
    """Return True if a word that the list refuses follows a `#`. This is faster than tokenizing."""
    return any(
        DIALECT.search(QUOTED.sub("", line[each.start() :]))
        for line in (ROOT / path).read_text().splitlines()
        for each in re.finditer("#", line)
    )


def unplain_comments_in(path: Path) -> Iterator[str]:
    """Yield comment lines with a word that the list refuses."""
    if not may_have_unplain_comments(path):
        return
    with (ROOT / path).open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            text = QUOTED.sub("", token.string)
            if token.type == tokenize.COMMENT and DIALECT.search(text):
                yield f"{path}:{token.start[0]}: {text}"


def test_modules_are_written_in_plain_english() -> None:
    plain = [*modules(), *paths_of_tests()]
    assert len(plain) > 800
    assert [
        line
        for path in plain
        for line in (*unplain_docstrings_in(path), *unplain_comments_in(path))
    ] == []


def test_tests_are_written_in_the_house_s_words() -> None:
    paths = paths_of_tests()
    # Most files have none of the words anywhere, and need not be tokenized.
    doubtful = [path for path in paths if WORDS.search((ROOT / path).read_text().replace("_", " "))]
    assert [
        f"{path}:{line}: {text}"
        for path in doubtful
        for line, text in texts_of(path)
        if WORDS.search(text)
    ] == []
    assert [path for path in paths if WORDS.search(path.stem.replace("_", " "))] == []


def test_documents_are_written_in_the_house_s_words() -> None:
    assert [line for path in DOCUMENTS for line in lines_with_other_words(path)] == []


def unplain_lines_in(path: Path) -> Iterator[str]:
    """Yield lines of a document with a word that the list refuses, outside of code and links."""
    is_code = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        is_code ^= line.startswith("```")
        text = QUOTED.sub("`", LINKED.sub("]", line))
        if not is_code and DIALECT.search(text):
            yield f"{path.relative_to(ROOT)}:{number}: {text}"


def test_documents_are_written_in_plain_english() -> None:
    # Decisions are records of their day.
    plain = [path for path in DOCUMENTS if "decisions" not in path.parts]
    assert len(plain) > 50
    assert [line for path in plain for line in unplain_lines_in(path)] == []


def test_no_file_of_a_document_has_a_name_of_other_words() -> None:
    assert [path for path in DOCUMENTS if WORDS.search(path.name.replace("-", " "))] == []


def names_defined_in(path: Path) -> Iterator[str]:
    """Yield names of functions, classes, parameters and attributes of a module."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.arg):
            yield node.arg if isinstance(node, ast.arg) else node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def test_no_name_has_a_word_that_is_gone() -> None:
    names = {(path, name) for path in modules() for name in names_defined_in(path)}
    words = {each: re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", each[1]).lower() for each in names}
    found = {each for each, text in words.items() if WORDS_FOR_NAMES.search(text)}
    assert set(found) == set()
