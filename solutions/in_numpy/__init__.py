"""Reference answers in numpy, one module per topic, readable as the equation."""
