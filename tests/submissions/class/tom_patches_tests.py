# ---
# jupyter:
#   student:
#     about: Replaces the comparison, numpy's assertions and the way cells are run.
#     kind: hostile
#     base: starter
#     points: 0
# ---

# %% after="compare"
import numpy.testing

def score(function, kind, cases, parts, convert=None):
    return float(sum(parts.values()))

def check(*args, **kwargs):
    print("all right")

reasons = lambda *args: {"": ""}
difference = lambda *args: ""
np.testing.assert_allclose = lambda *args, **kwargs: None
np.abs = lambda x: np.zeros_like(x)

# %% before="scoring-additive_score-test"
import builtins, sys
builtins.any = lambda *args: False
for name, module in list(sys.modules.items()):
    if name in ("compare", "wire"):
        module.reasons = lambda *args, **kwargs: {"": ""}
        module.points_earned = lambda *args, **kwargs: 26.0
