"""Parts of pages: curves, lines, trees and forms.

Callers pass in the data to draw. The modules themselves read only the history.
"""
