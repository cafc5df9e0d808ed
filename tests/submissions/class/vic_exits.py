# ---
# jupyter:
#   student:
#     about: Right until the middle, then leaves Python in a way that no except clause can catch.
#     kind: hostile
#     base: reference
#     lost: 0
# ---

# %% before="scoring-additive_score"
import os
os._exit(0)
