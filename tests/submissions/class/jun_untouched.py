# ---
# jupyter:
#   student:
#     about: Hands in the notebook as it was handed out.
#     kind: unfinished
#     base: starter
#     points: 0
# ---
