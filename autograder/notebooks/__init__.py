"""From chapter to notebook, and back: assemble assignments, repair what was handed in."""
