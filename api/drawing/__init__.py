"""Parts of pages: curves, lines, trees and forms. These modules read only the history."""
