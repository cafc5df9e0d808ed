"""What an instructor reads about a class: tables in the terminal, the report page."""
