"""Grade one submission: run it in a sandbox, judge what it returned."""
