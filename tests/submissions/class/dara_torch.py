# ---
# jupyter:
#   student:
#     about: Right, with torch also where numpy was asked for; one result still requires a gradient.
#     kind: right
#     base: reference
#     use: [additive_score__torch, dot_product_score__torch, score_every_step__linear,
#       batched_additive_shapes__by_computing, scores_by_hand_twin__tensor]
#     lost: 0
# ---
