# ---
# jupyter:
#   student:
#     about: Asks for memory, disk and processes without end.
#     kind: hostile
#     base: starter
#     points: 0
# ---

# %% answer="scoring-scores_by_hand"
def scores_by_hand():
    return [1.2087, 1.7234]

# %% after="scoring-scores_by_hand"
hoard = []
while True:
    hoard.append(bytearray(100 * 2**20))

# %% after="scoring-scores_by_hand_twin"
hoard = None
with open("/scratch/big", "wb") as file:
    while True:
        file.write(bytes(10 * 2**20))

# %% after="scoring-hindi_scores"
import os, time
children = 0
try:
    while children < 10_000:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        children += 1
finally:
    print(children, "children")
