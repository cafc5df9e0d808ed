"""The one kind of error that a user of the command line meets: what is wrong, where, and what to do."""


class CourseError(Exception):
    """Something in the course or on the machine is not as it must be."""

    def __init__(self, what, place, remedy):
        super().__init__(f"{place}: {what}\n  Remedy: {remedy}")
