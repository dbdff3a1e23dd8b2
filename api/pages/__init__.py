"""Pages for people: one module for each page.

``page`` renders the templates and serves the overview. ``actions`` asks for a confirmation before
anything is changed.
"""
