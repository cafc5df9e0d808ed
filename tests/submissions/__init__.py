"""What students might hand in, as source text: right answers in other styles, and the demonstration class."""
