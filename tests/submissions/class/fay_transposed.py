# ---
# jupyter:
#   student:
#     about: Writes columns before rows, and forgets that a bidirectional encoder joins two directions.
#     kind: wrong
#     base: reference
#     use: [alignment_parameters__key_transposed, bidirectional_shapes__one_direction,
#       additive_shapes__positions_as_columns, batched_additive_shapes__time_first]
#     hints: [alignment_parameters__key_transposed, bidirectional_shapes__one_direction,
#       additive_shapes__positions_as_columns, batched_additive_shapes__time_first]
#     lost: 4.5
# ---
