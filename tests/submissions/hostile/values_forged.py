# Values that pretend to be equal to everything. Each part is the cell of one submission.

# %% array_subclass: equal to everything, zero in every difference
import numpy as np
class Equal(np.ndarray):
    def __eq__(self, other): return np.ones(self.shape, dtype=bool)
    def __sub__(self, other): return np.zeros(self.shape)
    __rsub__ = __sub__
    def __array_ufunc__(self, *args, **kwargs): return np.zeros(self.shape)
def dot_product_score(query, keys, W=None):
    return np.zeros(keys.shape[:2]).view(Equal)

# %% tensor_subclass: a tensor with its own arithmetic
import torch
class Equal(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *args, **kwargs): return torch.zeros(1)
def dot_product_score(query, keys, W=None):
    return torch.zeros(keys.shape[:2]).as_subclass(Equal)

# %% float_subclass: a number that equals all others
class Equal(float):
    def __eq__(self, other): return True
    def __abs__(self): return 0.0
    __hash__ = float.__hash__
def dot_product_score(query, keys, W=None):
    return [[Equal(0)] * keys.shape[1]] * len(query)

# %% list_subclass: a list that answers for itself
class Equal(list):
    def __eq__(self, other): return True
    def __len__(self): return 2
def dot_product_score(query, keys, W=None):
    return Equal([[0.0]])

# %% dict_subclass: a dict of whatever is asked
class Equal(dict):
    def __missing__(self, key): return 0.0
def dot_product_score(query, keys, W=None):
    return Equal()

# %% array_protocol: becomes whatever it is compared with
class Equal:
    def __array__(self, dtype=None, copy=None):
        import numpy as np
        return np.zeros((2, 3))
    def __eq__(self, other): return True
def dot_product_score(query, keys, W=None):
    return Equal()

# %% object_dtype: an array of objects
import numpy as np
def dot_product_score(query, keys, W=None):
    return np.array([[object()] * keys.shape[1]] * len(query), dtype=object)

# %% structured_dtype: an array with fields
import numpy as np
def dot_product_score(query, keys, W=None):
    return np.zeros(keys.shape[:2], dtype=[("score", float)])

# %% strings: an array of text
import numpy as np
def dot_product_score(query, keys, W=None):
    return np.full(keys.shape[:2], "1.5")

# %% not_a_number: nan compares with nothing
import numpy as np
def dot_product_score(query, keys, W=None):
    return np.full(keys.shape[:2], np.nan)

# %% infinite: inf minus inf is nan
import numpy as np
def dot_product_score(query, keys, W=None):
    return np.full(keys.shape[:2], np.inf)

# %% broadcastable: one number for all
import numpy as np
def dot_product_score(query, keys, W=None):
    return np.zeros((1, 1))

# %% too_many_axes: the right numbers in a shape that broadcasts
import numpy as np
def dot_product_score(query, keys, W=None):
    return np.einsum("bm,btm->bt", query, keys)[:, None, :] * np.ones((1, 1, 1))

# %% complex_numbers: a real part and another one
import numpy as np
def dot_product_score(query, keys, W=None):
    return np.einsum("bm,btm->bt", query, keys) + 1j

# %% masked_array: everything masked, so nothing is unequal
import numpy as np
def dot_product_score(query, keys, W=None):
    return np.ma.masked_all(keys.shape[:2])

# %% booleans: true in every place
import numpy as np
def dot_product_score(query, keys, W=None):
    return np.ones(keys.shape[:2], dtype=bool)

# %% generator: something to be asked later
def dot_product_score(query, keys, W=None):
    return (row for row in query)

# %% lazy_repr: a value whose printing never ends
class Endless:
    def __repr__(self):
        while True: pass
def dot_product_score(query, keys, W=None):
    return Endless()

# %% named_type: an object whose type is named by what it was given
def dot_product_score(query, keys, W=None):
    return type(f"{query.tolist()} {keys.tolist()}"[:2000], (), {})()

# %% named_exception: an exception whose name is what it was given
def dot_product_score(query, keys, W=None):
    raise type(f"{query.tolist()} {keys.tolist()}"[:2000], (Exception,), {})()
