"""Grade a whole class: run what was handed in, record it, write the feedback."""
