# ---
# jupyter:
#   student:
#     about: Has done the shapes and a warm-up, then ran out of time in the middle of a line.
#     kind: unfinished
#     base: starter
#     points: 1
# ---

# %% answer="scoring-batched_additive_shapes"
def batched_additive_shapes(batch, m, n, a, T_x):
    return {"projected_query": (batch, 1, a), "hidden": (batch, T_x, a), "product": (batch, T_x), "W": n}

# %% answer="scoring-scores_by_hand"
def scores_by_hand():
    return [1.2087, 1.7234]

# %% answer="scoring-additive_score"
def additive_score(query, keys, W_query, W_key, v):
    projected_query = query @
