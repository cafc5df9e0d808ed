# ---
# jupyter:
#   student:
#     about: Squeezes every axis of length one, and leaves the graph in torch - right but for the edges.
#     kind: wrong
#     base: reference
#     use: [additive_score__squeezed, dot_product_score__squeezed, score_every_step__detached]
#     hints: [additive_score__squeezed, dot_product_score__squeezed, score_every_step__detached]
#     lost: 2.5
# ---
