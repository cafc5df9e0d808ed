"""Grade what students hand in as soon as it arrives, and give the feedback back through nbgrader's exchange."""
