"""Durable state of the broker: a journal, and SQLite tables as its checkpoint.

The broker writes each batch (the records of one commit) as one blob. A blob becomes one frame of
the journal and is made durable with one fsync. Rows are written to the tables later, in bounded
steps. After a power cut, the journal contains everything that the tables lack. Only the broker
writes the journal and the tables.
"""
