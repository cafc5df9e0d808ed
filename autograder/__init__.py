"""From chapter to grade: assemble assignments, run submissions in a sandbox, judge what they returned."""
