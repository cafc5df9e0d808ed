# ---
# jupyter:
#   student:
#     about: Hands in a text file under the right name.
#     kind: unreadable
#     as: text
#     points: set aside
# ---
