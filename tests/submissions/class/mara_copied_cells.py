# ---
# jupyter:
#   student:
#     about: Right, but copied an answer cell and a test cell together with their ids.
#     kind: damaged
#     base: reference
#     damage: [copy scoring-additive_score, copy scoring-additive_score-test, copy scoring-scores_by_hand_twin-test]
#     lost: 0
# ---
