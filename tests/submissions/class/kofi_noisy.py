# ---
# jupyter:
#   student:
#     about: Right, and noisy - warnings on stderr, prints in functions, a plot, helper cells, %timeit.
#     kind: odd
#     base: reference
#     lost: 0
# ---

# %% after="compare"
import sys
import warnings

import matplotlib.pyplot as plt

warnings.warn("this is only a warning")
print("hello from a student", file=sys.stderr)
plt.plot([1, 4, 9])

# %% before="scoring-additive_score"
def project(matrix, vectors):
    print("projecting", vectors.shape)
    return vectors @ matrix.T

# %% answer="scoring-additive_score"
def additive_score(query, keys, W_query, W_key, v):
    warnings.warn("computing")
    print("query", query, file=sys.stderr)
    hidden = np.tanh(project(W_query, query)[:, None] + project(W_key, keys))
    return hidden @ v

# %% after="scoring-additive_score"
# %timeit -n 3 -r 1 np.tanh(np.ones(10))
additive_score(np.ones((1, 2)), np.ones((1, 3, 2)), np.eye(2), np.eye(2), np.ones(2))
