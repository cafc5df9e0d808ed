"""Releases of assignments: made, proved, compared with those before."""
