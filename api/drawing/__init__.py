"""Parts of pages: curves, lines, trees and forms. They query nothing but the history."""
