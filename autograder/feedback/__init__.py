"""What people see of a graded submission: verdicts in the notebook, the feedback page, harmless whatever it shows."""
