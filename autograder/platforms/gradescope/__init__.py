"""An assignment as an autograder that Gradescope runs: the archive is made here, and this is what runs in it there."""
