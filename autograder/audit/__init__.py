"""How often the grader is wrong: on the course's own answers, on mutants and equivalents, on held-out answers."""
