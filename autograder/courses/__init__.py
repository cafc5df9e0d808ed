"""The course directory and what is done with whole classes: release, collect, grade, record, report."""
