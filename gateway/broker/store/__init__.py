"""Durable state of the broker: the journal, and SQLite tables as its checkpoint.

A batch is one blob, one frame of the journal and one fsync. The tables follow in bounded steps;
what they lack after a power cut is in the journal. Only the broker writes both.
"""
