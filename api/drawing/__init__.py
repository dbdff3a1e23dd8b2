"""Parts of pages: curves, lines, trees and forms.

Callers provide the data to draw. Apart from this data, only the history is read.
"""
