"""What nbgrader calls: the plugin that grades in its place, and its export."""
