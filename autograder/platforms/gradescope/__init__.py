"""Autograder archives for Gradescope: the code that builds them here, and the code that runs in them there."""
