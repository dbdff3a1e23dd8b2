"""Parts of pages: curves, lines, trees and forms.

These modules draw the data that their callers provide. The only data that they read themselves is
the history.
"""
