# ---
# jupyter:
#   student:
#     about: Hands in an empty file.
#     kind: unreadable
#     as: empty
#     points: set aside
# ---
