# ---
# jupyter:
#   student:
#     about: One function never ends, and one cell swallows every interrupt before it goes on.
#     kind: hostile
#     base: starter
#     points: 0
# ---

# %% answer="scoring-scores_by_hand"
def scores_by_hand():
    return [1.2087, 1.7234]

# %% answer="scoring-dot_product_score"
def dot_product_score(query, keys, W=None):
    while True:
        pass

# %% after="scoring-dot_product_score"
import time
end = time.time() + 6
while time.time() < end:
    try:
        time.sleep(0.1)
    except BaseException:
        pass
