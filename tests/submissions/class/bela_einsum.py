# ---
# jupyter:
#   student:
#     about: Right, with einsum everywhere.
#     kind: right
#     base: reference
#     use: [additive_score__einsum, dot_product_score__einsum, score_every_step__einsum,
#       additive_shapes__by_computing]
#     lost: 0
# ---
