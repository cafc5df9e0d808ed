"""Reports on a class for its instructor: tables in the terminal, and the report page."""
