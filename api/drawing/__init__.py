"""Parts of pages: curves, lines, trees and forms.

These modules draw what they are given. They query only the history.
"""
