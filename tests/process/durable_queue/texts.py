"""A queue of texts for a broker, with only the properties that every queue has."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gateway.process.durable_queue.broker_queue import BrokerQueue
from gateway.process.durable_queue.committer import QueueCommitter
from gateway.process.durable_queue.settlement import ExchangeSettlement
from gateway.process.durable_queue.table import QueueTable, TableDatabase
from gateway.process.files.queue_database import CommitThread
from gateway.process.files.queue_opening import QueueNames
from gateway.process.mqtt_client.exchanges import Exchange, Exchanges

NAMES = QueueNames("the queue of texts", "writer", "texts")


@dataclass(frozen=True)
class Text:
    text: str
    retain: bool = False
    qos: int = 2

    @property
    def bytes_count(self) -> int:
        return len(self.text) + 1


class Texts(QueueTable[Text]):
    message_type = Text
    columns = ("text", "retain", "qos")
    columns_of_batch = ("written",)
    bytes_of_row = "LENGTH(text) + 1"


class TextDatabase(TableDatabase):
    migration_set = "texts"
    migrations_known = ("m001_texts",)
    columns_of: ClassVar[dict[str, tuple[str, ...]]] = {
        "texts": ("number", "text", "retain", "qos", "packet_id", "released", "written")
    }

    def _migrate(self) -> None:
        execute = self._connection.execute
        execute("CREATE TABLE properties (name TEXT PRIMARY KEY, value TEXT)")
        execute(
            "CREATE TABLE texts (number INTEGER PRIMARY KEY, text TEXT, retain INTEGER, "
            "qos INTEGER, packet_id INTEGER, released INTEGER DEFAULT 0, "
            "written INTEGER DEFAULT 0)"
        )
        execute("CREATE TABLE _sqlite_migrations (migration_set TEXT, name TEXT)")
        execute("INSERT INTO _sqlite_migrations VALUES ('texts', 'm001_texts')")

    def _load(self) -> None:
        self.texts = Texts(self._connection, "texts")
        self.queue_tables = (self.texts,)
        self.commits = 0

    def commit(self) -> None:
        super().commit()
        self.commits += 1

    def write(self, *texts: str) -> None:
        self.begin()
        self.texts.insert([Text(each) for each in texts])
        self.commit()


def queue_on(path: Path, window: int = 10) -> tuple[TextDatabase, BrokerQueue[Text]]:
    """Return a database and the queue of its texts."""
    database = TextDatabase(path)
    return database, BrokerQueue(database.texts, Exchanges(window), session_key="session")


class TextCommitter(QueueCommitter[tuple[str, int]]):
    """A committer that records the packets to the broker in `sent`.

    A event is an answer and its packet identifier, or a session's name.
    """

    def __init__(self, database: TextDatabase, *, commit_delay_seconds: float = 0.0) -> None:
        commits = CommitThread(database, "texts-commit")
        super().__init__(database, commits, NAMES, commit_delay_seconds=commit_delay_seconds)
        self.queue = BrokerQueue(database.texts, Exchanges(10), session_key="session")
        self.queues = (self.queue,)
        self._taken: list[Text] = []
        self.arrivals: list[Text] = []
        self.sent: list[bytes] = []
        self.reports: list[bool] = []

    def write(self, *texts: str) -> None:
        self.arrivals += [Text(each) for each in texts]
        self.wake()

    @property
    def has_arrivals(self) -> bool:
        return bool(self.arrivals)

    def _process(self, events: Sequence[tuple[str, int]]) -> None:
        settlement = ExchangeSettlement(self.queue.exchanges)
        for name, packet_id in events:
            if name == "pubrec":
                settlement.receive_pubrec(packet_id, b"pubrel %d" % packet_id)
            elif name == "pubcomp":
                settlement.complete(self.queue.exchanges.receive_pubcomp(packet_id))
            else:
                settlement.session = name
        self.queue.apply(settlement)

    def _plan(self, *, takes_arrivals: bool) -> bool:
        self._taken = list(self.arrivals) if takes_arrivals else []
        return bool(self._taken)

    def _write_rows(self) -> None:
        self.queue.table.insert(self._taken)
        self.queue.start(self.queue.exchanges.free)

    def _committed(self) -> bool:
        self.queue.add(len(self._taken), sum(each.bytes_count for each in self._taken))
        del self.arrivals[: len(self._taken)]
        return False

    def _send(self) -> None:
        def packet_of(exchange: Exchange[Text], *, again: bool) -> bytes:
            return b"%d %s%s" % (exchange.packet_id, exchange.message.text.encode(), b"!" * again)

        self.sent += self.queue.settlement.packets(self.queue.started, packet_of)

    def _report_disk(self) -> None:
        self.reports.append(self.disk_full)
