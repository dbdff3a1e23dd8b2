"""Matching of topic names with filters of subscriptions, and with retained messages."""
