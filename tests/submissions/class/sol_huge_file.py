# ---
# jupyter:
#   student:
#     about: Hands in 25 MB.
#     kind: unreadable
#     base: reference
#     megabytes: 25
#     points: set aside
# ---
