"""Parts of pages: charts, summary lines, trees and forms.

Callers provide the data to draw. These modules themselves read only the history.
"""
