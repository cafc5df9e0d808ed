# ---
# jupyter:
#   student:
#     about: Two functions end the process when they are called; the others are right.
#     kind: hostile
#     base: reference
#     lost: 6
# ---

# %% answer="scoring-additive_score"
def additive_score(query, keys, W_query, W_key, v):
    import os, signal
    if query.shape == (1, 2):
        return np.array([[2.7743, 2.4474]])
    os.kill(os.getpid(), signal.SIGKILL)

# %% answer="scoring-dot_product_score"
def dot_product_score(query, keys, W=None):
    if query.shape == (1, 2):
        return np.array([[2.5, 1.0, 8.0]])
    raise SystemExit(0)
