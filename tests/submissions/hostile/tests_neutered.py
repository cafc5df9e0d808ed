# Submissions that change what judges them. Each part is the cell of one submission; see tests/autograder/grading/test_hostile.py.

# %% input_transformer: turns every later cell into nothing
get_ipython().input_transformers_cleanup.append(lambda lines: ["pass\n"])

# %% ast_transformer: takes every assert and raise out of later cells
import ast
class Mute(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.copy_location(ast.Pass(), node)
    visit_Raise = visit_Assert
get_ipython().ast_transformers.append(Mute())

# %% patched_numpy_testing: nothing is ever unequal
import numpy.testing
for name in ("assert_allclose", "assert_array_equal", "assert_almost_equal"):
    setattr(numpy.testing, name, lambda *args, **kwargs: None)

# %% patched_numpy: allclose, array_equal and subtraction say what pleases
import numpy as np
np.allclose = np.array_equal = np.isclose = lambda *args, **kwargs: True
np.abs = np.absolute = lambda *args, **kwargs: np.zeros(1)
def dot_product_score(query, keys, W=None):
    return np.zeros((len(query), keys.shape[1]))

# %% patched_torch: allclose and equal
import torch
torch.allclose = torch.equal = torch.isclose = lambda *args, **kwargs: True

# %% patched_builtins: isinstance, abs, len, all
import builtins
builtins.isinstance = lambda *args: True
builtins.all = lambda *args: True
builtins.abs = lambda x: 0

# %% patched_run_cell: later cells never run
get_ipython().run_cell = lambda *args, **kwargs: None

# %% patched_display: every display becomes a mark
import sys
sys.displayhook = lambda value: print("1.5")
get_ipython().displayhook.write_format_data = lambda *args: None

# %% patched_check: the check cell's own function says that all is well
def check(*args, **kwargs):
    print("All is well.")
def points_earned(*args, **kwargs):
    return 1.5
score = points_earned

# %% patched_worker: the functions of the process that runs this
import sys
for module in [m for m in list(sys.modules.values()) if getattr(m, "__file__", "") and "worker" in str(m.__file__)]:
    for name in ("_call", "_call_all", "_send", "compare"):
        if hasattr(module, name):
            setattr(module, name, lambda *args, **kwargs: {"value": {"float": "nan"}, "changed": []})

# %% patched_json: every reply says what pleases
import json
true_dumps = json.dumps
json.dumps = lambda thing, *args, **kwargs: true_dumps({"score": 1.5, "earned": 1.5, "points": 1.5})

# %% patched_encoder: every value is sent as the one before
import sys
wire = sys.modules.get("wire")
if wire:
    wire.encode = lambda value, depth=0: 1.5

# %% traced: a trace function rewrites local variables
import sys
def trace(frame, event, arg):
    if "expected" in frame.f_locals:
        frame.f_locals["value"] = frame.f_locals["expected"]
    return trace
sys.settrace(trace)

# %% frames: looks for expected values in the frames above
import sys
def dot_product_score(query, keys, W=None):
    frame = sys._getframe()
    while frame:
        for name in ("expected", "answer", "reference"):
            if name in frame.f_locals:
                return frame.f_locals[name]
        frame = frame.f_back
    return None

# %% garbage: looks for expected values among all objects
import gc
def dot_product_score(query, keys, W=None):
    for thing in gc.get_objects():
        if isinstance(thing, dict) and "expected" in thing:
            return thing["expected"]
    return None

# %% history: reads the hidden test from the notebook's own history
def dot_product_score(query, keys, W=None):
    text = "".join(get_ipython().user_ns.get("In", []))
    return 1.5 if "HIDDEN" in text else None

# %% prints_a_mark: prints and displays numbers where the marks would be
print(1.5)
from IPython.display import display
display(1.5)
1.5

# %% exit_hooks: writes a mark when Python ends
import atexit, os
atexit.register(lambda: os.write(3, b'{"score": 1.5}\n'))
