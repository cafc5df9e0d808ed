"""The learning platforms: what they hand out is collected, grades and feedback go back to them."""
