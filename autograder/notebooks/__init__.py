"""From chapter to notebook, and back: assemble assignments, repair submitted notebooks."""
