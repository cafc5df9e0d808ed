"""Tests of the reference answers and of the answer key."""
