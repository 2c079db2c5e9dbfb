"""Pictures, trees and pages: pure functions of plain data, with one style sheet."""
