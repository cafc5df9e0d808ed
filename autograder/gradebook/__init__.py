"""nbgrader's gradebook: its assignments, the rows of each submission, late penalties, backups."""
