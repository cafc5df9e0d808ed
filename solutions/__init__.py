"""Reference answers of the course: what the book shows, what the exercises ask for, what the grader compares with.

Nothing in here knows who reads it: ``solutions`` imports neither ``book`` nor ``autograder``.
"""
