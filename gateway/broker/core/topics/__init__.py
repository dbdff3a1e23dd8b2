"""Matching of topic names with topic filters of subscriptions and retained messages (section
4.7).
"""
