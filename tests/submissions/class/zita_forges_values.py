# ---
# jupyter:
#   student:
#     about: Returns objects that say they equal everything, arrays of the wrong kind, and shapes that broadcast.
#     kind: hostile
#     base: starter
#     points: 0
# ---

# %% answer="scoring-additive_score"
class Equal(np.ndarray):
    def __eq__(self, other):
        return np.ones(self.shape, dtype=bool)
    def __sub__(self, other):
        return np.zeros(self.shape)
    __rsub__ = __sub__
    def __array_finalize__(self, other):
        pass

def additive_score(query, keys, W_query, W_key, v):
    return np.zeros(keys.shape[:2]).view(Equal)

# %% answer="scoring-dot_product_score"
def dot_product_score(query, keys, W=None):
    if W is not None:
        return np.full((query.shape[0], 1), np.nan)
    return np.array([[object()] * keys.shape[1]] * keys.shape[0], dtype=object)

# %% answer="scoring-batched_additive_shapes"
class Size(int):
    def __eq__(self, other):
        return True
    __hash__ = int.__hash__

def batched_additive_shapes(batch, m, n, a, T_x):
    return {name: (Size(1), Size(1)) for name in ("projected_query", "hidden", "product", "W")}

# %% answer="scoring-hindi_scores"
def hindi_scores():
    return [float("nan")] * 3

# %% answer="scoring-scores_by_hand"
def scores_by_hand():
    return 10 ** 6000
