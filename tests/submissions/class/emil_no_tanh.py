# ---
# jupyter:
#   student:
#     about: Forgets the tanh, in code and by hand.
#     kind: wrong
#     base: reference
#     use: [additive_score__no_tanh, score_every_step__no_tanh]
#     hints: [additive_score__no_tanh, score_every_step__no_tanh, scores_by_hand_twin__no_tanh]
#     lost: 8.5
# ---

# %% answer="scoring-scores_by_hand_twin"
def scores_by_hand_twin():
    return [0.2, -0.3, 3.2]
