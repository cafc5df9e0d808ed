# ---
# jupyter:
#   student:
#     about: Writes the time axis first.
#     kind: wrong
#     base: reference
#     use: [batched_additive_shapes__time_first]
#     hints: [batched_additive_shapes__time_first]
#     lost: 1.5
# ---
