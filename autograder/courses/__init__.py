"""The course directory: where its files are, what course.toml says about this year, and who may work in it at once."""
