"""Descriptions of every key in the form in which people write it."""

import tomllib
from pathlib import Path

from gateway.configuration import load
from gateway.configuration.description import keys


def test_values_are_shown_as_a_file_would_have_them(tmp_path: Path) -> None:
    by_section: dict[str, dict[str, str]] = {}
    for key in keys(load(None, {}, {}, None)):
        section, name = key.name.strip("[").split("]")[0], key.name.split()[-1]
        if key.text != "-":
            by_section.setdefault(section, {})[name] = key.text
    listeners = by_section.pop("listeners")
    file = tmp_path / "gateway.toml"
    lines = [
        f"[{section}]\n" + "".join(f"{name} = {text}\n" for name, text in pairs.items())
        for section, pairs in by_section.items()
    ]
    lines.append("[[listeners]]\n" + "".join(f"{n} = {text}\n" for n, text in listeners.items()))
    file.write_text("".join(lines))
    tomllib.loads(file.read_text())
    shown_again = load(file, {}, {}, None)
    assert shown_again == load(None, {}, {}, None)
