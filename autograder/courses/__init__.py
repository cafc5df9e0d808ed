"""The course directory: where its files are, what course.toml says of this year, who may work in it at the same time."""
