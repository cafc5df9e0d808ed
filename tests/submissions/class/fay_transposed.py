# ---
# jupyter:
#   student:
#     about: Writes positions as columns, and time first.
#     kind: wrong
#     base: reference
#     use: [additive_shapes__positions_as_columns, batched_additive_shapes__time_first]
#     hints: [additive_shapes__positions_as_columns, batched_additive_shapes__time_first]
#     lost: 2.5
# ---
