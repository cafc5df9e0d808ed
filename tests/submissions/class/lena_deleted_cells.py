# ---
# jupyter:
#   student:
#     about: Right, but deleted a check, a test and an answer cell with its function in it.
#     kind: damaged
#     base: reference
#     damage: [delete scoring-additive_score-test, delete scoring-additive_score-check, delete scoring-dot_product_score,
#       delete scoring-what_to_recompute]
#     lost: 3
# ---
