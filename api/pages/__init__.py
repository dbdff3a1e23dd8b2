"""Pages for people, with one module for each page.

``page`` renders the templates and serves the overview. ``actions`` shows a confirmation page before
anything is changed.
"""
