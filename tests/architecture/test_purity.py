"""The pure rooms use nothing but their arguments, and rooms import only what they may."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PURE_ROOMS = ("wire", "core")
# Modules that make two runs differ, or that reach beyond the arguments.
CLOCKS = {"time", "datetime", "sched", "zoneinfo"}
CHANCE = {"random", "secrets", "uuid"}
SOCKETS = {"socket", "socketserver", "ssl", "select", "selectors", "http", "urllib"}
FILES = {"io", "os", "pathlib", "tempfile", "shutil", "glob", "mmap", "fcntl", "sqlite3", "tomllib"}
LOOPS = {"asyncio", "uvloop", "threading", "concurrent", "multiprocessing", "queue", "contextvars"}
PROCESS = {
    "sys",
    "signal",
    "subprocess",
    "ctypes",
    "pty",
    "termios",
    "tty",
    "importlib",
    "builtins",
}
LOGS = {"logging", "systemd", "rich", "typer", "pydantic", "sqlite_utils"}
IMPURE_MODULES = CLOCKS | CHANCE | SOCKETS | FILES | LOOPS | PROCESS | LOGS
IMPURE_CALLS = frozenset({"open", "print", "input", "exec", "eval", "__import__", "breakpoint"})


def modules() -> Iterator[Path]:
    for room in PURE_ROOMS:
        yield from sorted((ROOT / "gateway" / "broker" / room).rglob("*.py"))


def impurities_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            names = []
        yield from (f"imports {name}" for name in names if name.partition(".")[0] in IMPURE_MODULES)
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name) and called.id in IMPURE_CALLS:
            yield f"calls {called.id}"


@pytest.mark.parametrize(
    "path", list(modules()), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_a_module_of_a_pure_room_reaches_for_no_clock_socket_file_log_or_chance(path: Path) -> None:
    assert list(impurities_of(ast.parse(path.read_text(), str(path)))) == []


def test_the_search_for_impurities_finds_them() -> None:
    program = "import time\nfrom os import path\nfrom asyncio.tasks import Task\nopen('x')\n"
    assert len(list(impurities_of(ast.parse(program)))) == 4


def test_the_arrows_between_the_rooms_point_one_way() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    outcome = subprocess.run(
        [linter, "--no-cache"], check=False, cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert outcome.returncode == 0, outcome.stdout


def inner_parts_used_in(tree: ast.AST) -> Iterator[str]:
    """Yield the uses of a broker's core, or of its attributes with an underscore."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            if name in ("broker", "_broker") and (node.attr == "core" or node.attr[0] == "_"):
                yield f"{name}.{node.attr}"


def test_no_other_room_reaches_into_the_parts_of_the_core() -> None:
    found = [
        (path.name, used)
        for path in (ROOT / "gateway").rglob("*.py")
        if "core" not in path.relative_to(ROOT).parts
        for used in inner_parts_used_in(ast.parse(path.read_text()))
    ]
    assert found == []


def test_the_search_for_inner_parts_finds_them() -> None:
    program = "self.broker.core.state.evict(s)\nx = broker._output\nbroker.effects.pages\n"
    assert set(inner_parts_used_in(ast.parse(program))) == {"broker.core", "broker._output"}


@pytest.mark.parametrize("room", PURE_ROOMS)
def test_a_pure_room_states_why_it_exists(room: str) -> None:
    tree = ast.parse((ROOT / "gateway" / "broker" / room / "__init__.py").read_text())
    assert ast.get_docstring(tree)


# Rooms of `gateway` that each part may import. Import contracts check indirect imports.
ALLOWED = {
    "api": {"process.control", "process.files", "process.tls_transport"},
    "cloud_jobs": set(),
    "firmware-bridge/firmware_bridge": {
        "broker.wire",
        "process.control",
        "process.declarations",
        "process.durable_queue",
        "process.files",
        "process.mqtt_client",
        "process.version",
    },
    "gateway/broker/core": {"broker.core", "broker.wire"},
    "gateway/broker/wire": {"broker.wire"},
    "gateway/configuration": {"configuration", "process.declarations", "process.files"},
    "gateway/process/control": {"process.control"},
    "gateway/process/declarations": {"process.declarations"},
    "gateway/process/durable_queue": {
        "process.durable_queue",
        "process.files",
        "process.mqtt_client",
    },
    "gateway/process/files": {"process.files"},
    "gateway/process/mqtt_client": {"process.mqtt_client"},
    "gateway/tools/bench": {"broker.wire", "tools.bench"},
    "gateway/uplink": {
        "broker.wire",
        "process.control",
        "process.durable_queue",
        "process.files",
        "process.mqtt_client",
        "uplink",
    },
}
FOLDERS_OF_ROOMS = ("broker", "process", "tools")


def room_of(module: str) -> str:
    """Return the room of a module, for example `broker.core` for `gateway.broker.core.state`."""
    names = module.split(".")[1:]
    return ".".join(names[:2] if names[0] in FOLDERS_OF_ROOMS else names[:1])


def rooms_imported_in(tree: ast.AST) -> Iterator[str]:
    """Yield the rooms of `gateway` that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            is_folder = module.removeprefix("gateway.") in FOLDERS_OF_ROOMS
            is_whole = module == "gateway" or is_folder
            names = [f"{module}.{each.name}" for each in node.names] if is_whole else [module]
        else:
            continue
        yield from (room_of(name) for name in names if name.startswith("gateway."))


@pytest.mark.parametrize("part", ALLOWED)
def test_a_part_imports_the_rooms_that_it_is_allowed_and_no_other(part: str) -> None:
    found = {
        room
        for path in (ROOT / part).rglob("*.py")
        for room in rooms_imported_in(ast.parse(path.read_text()))
    }
    assert found <= ALLOWED[part]


def test_the_search_for_imported_rooms_finds_each_way_to_import() -> None:
    program = (
        "import gateway.broker.core.state\nfrom gateway.broker import wire\n"
        "from gateway import uplink\nfrom gateway.process.files.lock import x"
    )
    found = set(rooms_imported_in(ast.parse(program)))
    assert found == {"broker.core", "broker.wire", "uplink", "process.files"}
