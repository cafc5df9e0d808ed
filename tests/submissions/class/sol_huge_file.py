# ---
# jupyter:
#   student:
#     about: Hands in 200 MB.
#     kind: unreadable
#     base: reference
#     megabytes: 200
#     points: set aside
# ---
