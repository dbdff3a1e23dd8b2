"""A class of plain Python may have a compiled base only if the base allows it.

Otherwise mypyc's build raises TypeError for the first object, and no test of the server runs with
that build.
"""

import ast
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
COMPILED: Final = ("gateway.broker.core", "gateway.broker.wire")
ALLOWED: Final = "mypyc_attr(allow_interpreted_subclasses=True)"


def _classes_of(module: str) -> dict[str, ast.ClassDef]:
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _compiled_bases_of(path: Path) -> list[tuple[str, str]]:
    """Return module and name of each compiled class from which a class in the file is derived."""
    tree = ast.parse(path.read_text())
    imported = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(COMPILED)
        for alias in node.names
    }
    return [
        (module or "", name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if isinstance(base, ast.Name) and base.id in imported
        for module, name in [imported[base.id]]
    ]


def test_a_compiled_base_of_a_plain_class_allows_it() -> None:
    found = {
        base
        for path in (ROOT / "gateway").rglob("*.py")
        if path.relative_to(ROOT).parts[1:3] not in (("broker", "core"), ("broker", "wire"))
        for base in _compiled_bases_of(path)
    }
    assert ("gateway.broker.core.effects", "AuthenticationAnswer") in found
    for module, name in found:
        decorators = [ast.unparse(each) for each in _classes_of(module)[name].decorator_list]
        assert ALLOWED in decorators, f"{module}.{name}: add @{ALLOWED}"
