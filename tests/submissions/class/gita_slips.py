# ---
# jupyter:
#   student:
#     about: Slips of the pencil - tanh after v, a dot product that was never summed, and in a warm-up the other initial state.
#     kind: wrong
#     base: reference
#     use: [dot_product_score__elementwise]
#     hints: [scores_by_hand_twin__tanh_after_v, dot_product_score__elementwise]
#     lost: 5
# ---

# %% answer="scoring-scores_by_hand_twin"
def scores_by_hand_twin():
    return [math.tanh(2 * 0.5 - 0.8), math.tanh(2 * 0.3 - 0.9), math.tanh(2 * 1.0 + 1.2)]

# %% answer="scoring-hindi_scores"
def hindi_scores():
    return [1.506, 0.215, -0.374]
