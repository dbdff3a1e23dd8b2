"""Parts of pages: curves, lines, trees and forms.

The modules draw data from their callers. They read nothing themselves except the history.
"""
