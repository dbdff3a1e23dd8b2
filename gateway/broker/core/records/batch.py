"""The current batch, which collects records that will be committed together."""

from librt.strings import BytesWriter

from gateway.broker.core.gateway_time import ClockQuality, GatewayTime
from gateway.broker.core.records import layout
from gateway.broker.core.records.blob import packed
from gateway.broker.core.sessions.session import Session


class Batch:
    """Collection of the current batch's records. `seal` encodes all of them as one blob.

    The blob is committed to the journal with one fsync.
    """

    def __init__(
        self, time: GatewayTime, store: bytes, boot: bytes, batch_number: int, next_sequence: int
    ) -> None:
        self.time = time
        self.store = store
        self.boot = boot
        self.batch_number = batch_number
        self.next_sequence = next_sequence
        self.records = BytesWriter()
        self.record_count = 0
        self.names = bytearray()
        self.parts: list[bytes] = []
        """Records that `take_part` has already returned. `records` contains the later ones."""
        self.parts_bytes = 0
        self.parts_count = 0
        self.parts_names_bytes = 0
        self.lazy = False
        """True if a record was added since the last part that no client waits for."""

    def pending_bytes(self) -> int:
        """Return the size of the records in the current batch in bytes."""
        return self.parts_bytes + len(self.records)

    def blob_bytes(self) -> int:
        """Return the size in bytes of the blob that `seal` would return."""
        return layout.BLOB_HEADER.size + len(self.names) + self.pending_bytes() + layout.CRC.size

    def take_part(self, wall_ms: int, clock_quality: ClockQuality) -> bytes:
        """Return the records added since the last call, encoded as a blob.

        The batch stays open, so it can be stored in several blobs. All of them contain the number
        of the batch, and their sequence numbers are consecutive. A session's client identifier is
        only in the first blob that contains a record of the session.
        """
        records = self.records.getvalue()
        blob = self._blob(
            wall_ms,
            clock_quality,
            self.next_sequence + self.parts_count,
            self.record_count - self.parts_count,
            bytes(self.names[self.parts_names_bytes :]),
            records,
        )
        self.parts.append(records)
        self.parts_bytes += len(records)
        self.parts_count = self.record_count
        self.parts_names_bytes = len(self.names)
        self.records = BytesWriter()
        self.lazy = False
        return blob

    def seal(self, wall_ms: int, clock_quality: ClockQuality) -> bytes | None:
        """End the batch and return its records as one blob, or None if the batch has no records.

        `wall_ms` is the time in milliseconds since 1970, and `clock_quality` is its reliability.
        """
        if not self.record_count:
            self.batch_number += 1
            return None
        self.parts.append(self.records.getvalue())
        records = self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)
        blob = self._blob(
            wall_ms,
            clock_quality,
            self.next_sequence,
            self.record_count,
            bytes(self.names),
            records,
        )
        self.time.sealed(self.time.time_ms, wall_ms, clock_quality)
        self.next_sequence += self.record_count
        self.record_count = 0
        self.records = BytesWriter()
        self.names = bytearray()
        self.parts = []
        self.parts_bytes = 0
        self.parts_count = 0
        self.parts_names_bytes = 0
        self.lazy = False
        self.batch_number += 1
        return blob

    def _blob(
        self,
        wall_ms: int,
        clock_quality: ClockQuality,
        first_sequence: int,
        record_count: int,
        names: bytes,
        records: bytes,
    ) -> bytes:
        header = layout.BLOB_HEADER.pack(
            layout.BLOB_MAGIC,
            self.store,
            self.boot,
            clock_quality,
            wall_ms,
            self.batch_number,
            first_sequence,
            record_count,
            len(names),
            len(records),
            self.time.time_ms,
        )
        return packed(header, names, records)

    def _begin_record(self, session: Session) -> int:
        """Count a record of `session` that is about to be written, and return the session's number.

        The session's client identifier is added to the batch if the batch does not contain it yet.
        """
        self.record_count += 1
        if session.named_in_batch != self.batch_number:
            session.named_in_batch = self.batch_number
            client_id = session.client_id_bytes
            self.names += layout.NAME_RECORD.pack(session.number, len(client_id)) + client_id
        return session.number
