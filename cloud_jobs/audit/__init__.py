"""The audit of the tables: was any message lost or repeated, and which events are missing?"""
