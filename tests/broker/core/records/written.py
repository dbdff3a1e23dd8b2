"""Blobs with records that a test writes itself."""

from librt.strings import BytesWriter

from gateway.broker.core.records import layout
from gateway.broker.core.records.blob import Blob, packed
from gateway.broker.core.records.reader import records_of
from gateway.broker.core.records.record import Record


def blob_of(records: bytes, count: int = 1) -> Blob:
    """Return a blob with `count` records, which names no session."""
    header = layout.BLOB_HEADER.pack(
        *(layout.BLOB_MAGIC, b"s" * 8, b"b" * 8, 2, 1_000, 1, 1, count, 0, len(records), 2_000)
    )
    return Blob(packed(header, b"", records))


def read(records: BytesWriter) -> Record:
    """Return the only record of a blob that a test wrote."""
    (record,) = records_of(blob_of(records.getvalue()))
    return record


def fields_of(record: Record) -> dict[str, object]:
    """Return the fields of a record by their names, without its kind."""
    names = [name for name in dir(record) if not name.startswith("_") and name != "kind"]
    return {name: getattr(record, name) for name in names}
