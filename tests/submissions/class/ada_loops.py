# ---
# jupyter:
#   student:
#     about: Right, with loops and lists.
#     kind: right
#     base: reference
#     use: [additive_score__loops, dot_product_score__loops, batched_additive_shapes__lists,
#       scores_by_hand_twin__rounded]
#     lost: 0
# ---
