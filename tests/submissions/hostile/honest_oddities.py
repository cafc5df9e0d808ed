# Right answers with odd company. Each part is the cell of one submission, and each keeps all its points.

# %% warnings: on stderr, in a cell and in a call
import sys, warnings
warnings.warn("careful")
print("on stderr", file=sys.stderr)
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    warnings.warn("computing")
    return np.einsum("bm,btm->bt", query, keys)

# %% prints: while it is called
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    print("query", query.shape)
    return np.einsum("bm,btm->bt", query, keys)

# %% helpers: functions and cells of its own
def one(query, keys):
    return [float(query @ key) for key in keys]
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return [one(q, k) for q, k in zip(query, keys)]

# %% plot: a picture in the cell and in the call
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.show()
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    plt.plot([1, 2])
    return np.einsum("bm,btm->bt", query, keys)

# %% timeit: how long it takes
%timeit -n 3 -r 1 np.ones(3)
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return np.einsum("bm,btm->bt", query, keys)

# %% magics: of several kinds
%matplotlib inline
%precision 3
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return np.einsum("bm,btm->bt", query, keys)

# %% multiprocessing: two processes, within limits
import multiprocessing
def square(x): return x * x
with multiprocessing.Pool(2) as pool:
    print(pool.map(square, range(4)))
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return np.einsum("bm,btm->bt", query, keys)

# %% subprocess: another Python
import subprocess, sys
print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout)
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return np.einsum("bm,btm->bt", query, keys)

# %% threads: two of them
from concurrent.futures import ThreadPoolExecutor
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    with ThreadPoolExecutor(2) as pool:
        return np.array(list(pool.map(lambda pair: pair[1] @ pair[0], zip(query, keys))))

# %% lists: nested lists of numbers
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return [[sum(a * b for a, b in zip(q, key)) for key in k] for q, k in zip(query.tolist(), keys.tolist())]

# %% tuples: of numpy numbers
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return tuple(tuple(np.float64(q @ key) for key in k) for q, k in zip(query, keys))

# %% tensors: torch where numpy was expected, with gradients
import torch
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    query, keys = torch.tensor(query, requires_grad=True), torch.tensor(keys)
    return torch.einsum("bm,btm->bt", query, keys)

# %% fortran_order: the same numbers, stored another way
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return np.asfortranarray(np.einsum("bm,btm->bt", query, keys))

# %% not_contiguous: every second number of a larger array
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return np.repeat(np.einsum("bm,btm->bt", query, keys), 2, axis=1)[:, ::2]

# %% extended_precision: more digits than are asked for
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return np.einsum("bm,btm->bt", query, keys).astype(np.longdouble)

# %% masked: an array that could have masked entries, and has none
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return np.ma.masked_array(np.einsum("bm,btm->bt", query, keys))

# %% matrix: of the right shape
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return np.asmatrix(np.einsum("bm,btm->bt", query, keys))

# %% own_sequence: rows in a class of one's own, numbers as fractions
from collections import UserList, deque
from fractions import Fraction
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return UserList(deque(Fraction(number) for number in row) for row in np.einsum("bm,btm->bt", query, keys).tolist())

# %% callable_object: a class instead of a function
class Score:
    def __call__(self, query, keys, W=None):
        keys = keys if W is None else keys @ W.T
        return np.einsum("bm,btm->bt", query, keys)
dot_product_score = Score()

# %% decorated: with a wrapper around it
import functools
def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper
@logged
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return np.einsum("bm,btm->bt", query, keys)

# %% lambda: in one line
dot_product_score = lambda query, keys, W=None: np.einsum(
    "bm,btm->bt", query, keys if W is None else keys @ W.T
)

# %% files: written and read again
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    np.save("scores.npy", np.einsum("bm,btm->bt", query, keys))
    return np.load("scores.npy")

# %% global_state: a counter outside
calls = []
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    calls.append(query.shape)
    return np.einsum("bm,btm->bt", query, keys)

# %% changes_its_input: but not what it returns
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    result = np.einsum("bm,btm->bt", query, keys)
    query += 1
    return result

# %% an_error_elsewhere: another cell fails
try:
    import pandas_that_is_not_there
except ImportError as error:
    print(error)
def dot_product_score(query, keys, W=None):
    keys = keys if W is None else keys @ W.T
    return np.einsum("bm,btm->bt", query, keys)
