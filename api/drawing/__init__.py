"""Parts of pages: curves, lines, trees and forms.

These modules draw the data that their callers provide. They read only the history themselves.
"""
