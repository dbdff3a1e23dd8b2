"""A start on a data directory without its database; other tests cover recovery and damage."""

from pathlib import Path

from gateway.broker.core.records.kinds import StartKind
from gateway.broker.store.database import DATABASE_NAME
from tests.broker.core.harness import Harness
from tests.broker.store.data_directories import make_state


def test_a_database_that_is_gone_is_made_again_from_the_journal(tmp_path: Path) -> None:
    make_state(tmp_path)
    for path in tmp_path.glob(f"{DATABASE_NAME}*"):
        path.unlink()
    again = Harness(tmp_path)
    assert again.recovery is StartKind.SALVAGED
    assert again.damage == [f"{DATABASE_NAME} was missing beside its journal"]
    assert again.session("s").queued_count == 200
    assert "kept" in again.broker.state.retained
    again.close()
