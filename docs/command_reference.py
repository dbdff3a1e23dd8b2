"""The page with every command, its arguments and its options: `make docs` writes it."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from typer.main import get_command

from gateway.cli.application import PROGRAM, application_of
from image.deb.manual import commands_of, help_of, metavar_of, split

PAGE: Final = Path(__file__).resolve().parent / "options.md"
INTRODUCTION: Final = """# Commands and their options

Each command with its arguments, its options and its examples, as `--help` shows them. `make docs`
writes this page; [commands](commands.md) describes exit codes and JSON. Every command also has
`-h` and `--help`.
"""


def command_page() -> str:
    """Return the page with a section for each command, in the order of `oncegate --help`."""
    sections = [
        "\n".join(_section_of(path, command))
        for path, command in commands_of(get_command(application_of()), (PROGRAM,))
    ]
    return "\n".join([INTRODUCTION, *sections])


def _section_of(path: tuple[str, ...], command: Any) -> Iterator[str]:
    """Yield the lines of the section for one command: usage, description, options, examples."""
    described, examples = split(re.split(r"\n\s*\n", inspect.cleandoc(command.help or "")))
    parameters = [each for each in command.params if not getattr(each, "hidden", False)]
    yield f"{'#' * min(len(path) + 1, 3)} {' '.join(path)}\n"
    yield f"```\n{_usage_of(path, command)}\n```\n"
    for paragraph in described:
        yield _escaped(" ".join(paragraph.split())) + "\n"
    if parameters:
        yield "| | |\n|---|---|"
        yield "\n".join(map(_row_of, parameters)) + "\n"
    if examples:
        lines = "\n".join(" ".join(each.split()) for each in examples)
        yield f"```sh\n{lines}\n```\n"


def _usage_of(path: tuple[str, ...], command: Any) -> str:
    """Return the words that run a command, with placeholders for its options and arguments."""
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    words = [*path, "[OPTIONS]", *(_placeholder_of(each) for each in arguments)]
    return " ".join([*words, *(["COMMAND"] if hasattr(command, "commands") else [])])


def _placeholder_of(argument: Any) -> str:
    """Return the name of an argument, in brackets if the argument is optional."""
    name = metavar_of(argument)
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _row_of(parameter: Any) -> str:
    """Return the table row of an option or argument."""
    if parameter.param_type_name == "argument":
        names = f"`{metavar_of(parameter)}`"
    else:
        names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
        names += "" if parameter.is_flag else f" `{metavar_of(parameter)}`"
    text = _escaped(help_of(parameter))
    return f"| {names} | {text} |".replace("|` ", r"\|` ")


def _escaped(text: str) -> str:
    """Return text in which Markdown does not read markup, except code in backquotes."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([*_<>\[\]|])", r"\\\1", part) for part in parts
    )
