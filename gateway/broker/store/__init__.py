"""Durable state of the broker: a journal, and SQLite tables as its checkpoint.

The broker encodes each batch (the records of one commit) as one blob. Each blob is stored in one
frame of the journal and made durable with one fsync. Rows are written to the tables later, in short
steps. After a power cut, the journal contains everything that the tables lack. Only the broker
writes the journal and the tables.
"""
