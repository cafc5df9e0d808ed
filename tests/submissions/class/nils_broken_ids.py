# ---
# jupyter:
#   student:
#     about: Right, but some program broke the metadata of three cells, and a locked cell was edited.
#     kind: damaged
#     base: reference
#     damage: [break scoring-score_every_step, break scoring-score_every_step-test, break compare,
#       edit scoring-additive_score-check]
#     lost: 0
# ---
