# ---
# jupyter:
#   student:
#     about: Hands in the notebook of another course.
#     kind: unreadable
#     base: reference
#     as: other assignment
#     points: set aside
# ---
