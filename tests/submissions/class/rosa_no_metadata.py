# ---
# jupyter:
#   student:
#     about: A converter took all metadata out of the notebook.
#     kind: unreadable
#     base: reference
#     damage: [strip]
#     points: set aside
# ---
