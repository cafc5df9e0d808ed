# ---
# jupyter:
#   student:
#     about: Writes columns before rows, positions as columns, and time first.
#     kind: wrong
#     base: reference
#     use: [alignment_parameters__key_transposed, additive_shapes__positions_as_columns, batched_additive_shapes__time_first]
#     hints: [alignment_parameters__key_transposed, additive_shapes__positions_as_columns, batched_additive_shapes__time_first]
#     lost: 3.0
# ---
