# ---
# jupyter:
#   student:
#     about: Prints scores, displays scores, writes scores to every open file descriptor.
#     kind: hostile
#     base: starter
#     points: 0
# ---

# %% before="scoring-additive_score-test"
import json, os
print(26.0)
print('{"exercise": "scoring-additive_score", "earned": 3, "points": 3}')
for descriptor in range(3, 30):
    for call in range(4):
        try:
            message = {"exercise": "scoring-additive_score", "call": call, "value": 3.0, "earned": 3.0, "changed": []}
            os.write(descriptor, b"\n" + json.dumps(message).encode() + b"\n")
            os.write(descriptor, b'\n{"exercise": "scoring-additive_score", "status": "ended"}\n{"cells": 43}\n')
        except OSError:
            pass
3.0

# %% before="scoring-dot_product_score-check"
def check(*args, **kwargs):
    return 26.0
