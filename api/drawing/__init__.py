"""Parts of web pages: charts, summary lines, trees and forms.

These modules read the history. Callers provide all other data.
"""
