"""What nbgrader calls: the plugin that replaces its grading and exchange commands, and the export."""
