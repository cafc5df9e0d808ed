# Writing on the pipe beside the worker. Each part is the cell of one submission.

# %% forged_status: says that all calls have ended
import json, os
for n in range(3, 30):
    try: os.write(n, b'\n' + json.dumps({"exercise": "scoring-dot_product_score", "status": "ended"}).encode() + b'\n')
    except OSError: pass

# %% forged_values: answers for calls that nobody has made
import json, os
for n in range(3, 30):
    for call in range(9):
        message = {"exercise": "scoring-dot_product_score", "call": call, "value": 0.0, "changed": []}
        try: os.write(n, b'\n' + json.dumps(message).encode() + b'\n')
        except OSError: pass

# %% forged_for_the_other: answers for another exercise, from inside a call
import json, os
def dot_product_score(query, keys):
    for n in range(3, 30):
        message = {"exercise": "scoring-multiplicative_score", "call": 0, "value": 0.0, "changed": []}
        try: os.write(n, b'\n' + json.dumps(message).encode() + b'\n')
        except OSError: pass
    return 0.0

# %% doubled: the same reply many times, then another
import json, os
def dot_product_score(query, keys):
    for value in (0.0, 1.0, 2.0):
        message = {"exercise": "scoring-dot_product_score", "call": 0, "value": value, "changed": []}
        for n in range(3, 30):
            try: os.write(n, b'\n' + json.dumps(message).encode() + b'\n')
            except OSError: pass
    return 0.0

# %% deep_json: a thousand brackets
import os
for n in range(3, 30):
    try: os.write(n, b'\n' + b'{"a":' * 5000 + b'\n')
    except OSError: pass

# %% huge_integer: six thousand digits
import os
for n in range(3, 30):
    try: os.write(n, b'\n{"exercise": "scoring-dot_product_score", "call": 0, "value": ' + b"9" * 6000 + b'}\n')
    except OSError: pass

# %% surrogates: half a character
import os
for n in range(3, 30):
    try: os.write(n, b'\n{"cell": "\\ud800", "outputs": [{"output_type": "stream", "name": "stdout", "text": "\\ud800"}]}\n')
    except OSError: pass
print("\ud800")

# %% wrong_types: lists for names, text for numbers
import os
for n in range(3, 30):
    try: os.write(n, b'\n{"exercise": ["a"], "call": "0", "status": null}\n[]\n7\n"text"\nnull\n')
    except OSError: pass

# %% huge_reply: four hundred megabytes in one value
import numpy as np
def dot_product_score(query, keys):
    return np.zeros(50_000_000)

# %% endless_line: bytes without an end
import os
def dot_product_score(query, keys):
    for n in range(3, 30):
        try:
            while True: os.write(n, b"x" * 65536)
        except OSError: pass

# %% closed_pipes: nothing can be said any more
import os
def dot_product_score(query, keys):
    os.closerange(3, 100)

# %% closed_pipes_in_a_cell: before anything was asked
import os
os.closerange(3, 100)
