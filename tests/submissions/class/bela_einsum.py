# ---
# jupyter:
#   student:
#     about: Right, with einsum everywhere.
#     kind: right
#     base: reference
#     use: [additive_score__einsum, dot_product_score__einsum, score_every_step__einsum,
#       batched_additive_shapes__by_computing]
#     lost: 0
# ---

# %% answer="scoring-scores_by_hand"
def scores_by_hand():
    return [1.2087, 1.7234]

# %% answer="scoring-hindi_scores"
def hindi_scores():
    return [1.3581, 0.1054, -0.5866]
