"""Parts of pages: curves, lines, trees and forms.

These modules draw the data that they are given, and query only the history themselves.
"""
