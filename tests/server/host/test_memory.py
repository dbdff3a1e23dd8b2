"""How much memory the machine or its container has."""

from pathlib import Path

from gateway.server.host.memory import memory_bytes


def test_a_container_has_what_its_control_group_allows(tmp_path: Path) -> None:
    total = memory_bytes(tmp_path / "missing")
    assert total > 64 << 20
    limit = tmp_path / "memory.max"
    limit.write_text("67108864\n")
    assert memory_bytes(limit) == 64 << 20
    limit.write_text("max\n")
    assert memory_bytes(limit) == total
    limit.write_text(f"{2 * total}\n")
    assert memory_bytes(limit) == total
