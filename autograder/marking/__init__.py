"""Mark written answers: all answers to one question on one page, which is served only to this machine."""
