"""The one kind of error that whoever runs the course meets: what is wrong, where, and what to do.

In: three texts. Out: an exception that says them. Touches nothing.
"""


class CourseError(Exception):
    """Something in the course or on the machine is not as it must be."""

    def __init__(self, what, place, remedy):
        super().__init__(what, place, remedy)  # so that it can be sent from one process to another

    def __str__(self):
        what, place, remedy = self.args
        return f"{place}: {what}\n  Remedy: {remedy}"


class AnswerKeyError(CourseError):
    """The key is wrong, or does not fit reference and mistakes."""
