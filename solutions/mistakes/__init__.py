"""Named wrong answers, one module per topic: the signature of the reference, the hint as docstring."""
