"""Pages for people, with one module for each page.

``page`` renders the templates and contains the overview. ``actions`` contains the confirmation
pages that people see before an action is executed.
"""
