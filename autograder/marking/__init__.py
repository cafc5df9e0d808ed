"""Mark written answers: all those to one question on one page, which is served to this machine alone."""
