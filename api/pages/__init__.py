"""The web pages that people see. Each page has its own module.

``page`` renders the templates and contains the overview. ``actions`` contains the confirmation
pages that people see before an action is executed.
"""
