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
def dot_product_score(query, keys, W=None):
    for n in range(3, 30):
        message = {"exercise": "scoring-additive_score", "call": 0, "value": 0.0, "changed": []}
        try: os.write(n, b'\n' + json.dumps(message).encode() + b'\n')
        except OSError: pass
    return 0.0

# %% doubled: the same reply many times, then another
import json, os
def dot_product_score(query, keys, W=None):
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
def dot_product_score(query, keys, W=None):
    return np.zeros(50_000_000)

# %% endless_line: bytes without an end
import os
def dot_product_score(query, keys, W=None):
    for n in range(3, 30):
        try:
            while True: os.write(n, b"x" * 65536)
        except OSError: pass

# %% closed_pipes: nothing can be said any more
import os
def dot_product_score(query, keys, W=None):
    os.closerange(3, 100)

# %% closed_pipes_in_a_cell: before anything was asked
import os
os.closerange(3, 100)

# %% long_kind: everything that it was given, as the name of a type
import json, os
def dot_product_score(query, keys, W=None):
    name = (str(query.tolist()) + str(keys.tolist())) * 50
    for call in range(10):
        message = {"exercise": "scoring-dot_product_score", "call": call, "value": {"other": name[:20000]}}
        for n in range(3, 30):
            try:
                os.write(n, b'\n' + json.dumps(message).encode() + b'\n')
                break  # the first that can be written leads to the host
            except OSError: pass
    return 0.0

# %% long_names: thousands of inputs that it says it changed
import json, os
def dot_product_score(query, keys, W=None):
    names = [f"name_{n}_" + "x" * 60 for n in range(20_000)]
    for n in range(3, 30):
        message = {"exercise": "scoring-dot_product_score", "call": 0, "value": 0.0, "changed": names}
        try:
            os.write(n, b'\n' + json.dumps(message).encode() + b'\n')
            break
        except OSError: pass
    return 0.0

# %% long_keys: a dict whose keys are everything that it was given
def dot_product_score(query, keys, W=None):
    return {f"{n}\x1b[2J {query.tolist()} {keys.tolist()}" * 9: 1.0 for n in range(500)}

# %% nested_lists: a megabyte of lists in lists, again and again
import os
def dot_product_score(query, keys, W=None):
    value = b'{"list": [' * 5 + b'[],' * 300_000 + b'0' + b']}' * 5
    line = b'\n{"exercise": "scoring-dot_product_score", "call": 0, "value": ' + value + b'}\n'
    for n in range(3, 30):
        try:
            os.write(n, line)
            break
        except OSError: pass
    return 0.0
