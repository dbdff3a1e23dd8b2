"""Lookup by topic levels: the subscribers of a topic, and the retained messages for a filter."""
