"""Learning platforms: collect the submissions that they export, and return grades and feedback to them."""
