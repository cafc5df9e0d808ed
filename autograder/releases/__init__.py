"""Releases of assignments: make them, prove them, compare them with earlier ones."""
