"""Present a graded submission: verdicts in the notebook, and a feedback page that is safe whatever a student wrote."""
