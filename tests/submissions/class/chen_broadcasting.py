# ---
# jupyter:
#   student:
#     about: Right, with broadcasting, in single precision, with numpy integers as sizes.
#     kind: right
#     base: reference
#     use: [additive_score__torch, dot_product_score__matmul,
#       score_every_step__loop_over_steps, batched_additive_shapes__lists]
#     lost: 0
# ---
