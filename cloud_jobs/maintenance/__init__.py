"""Maintenance: compaction and removal of old files, and another try for refused segments."""
