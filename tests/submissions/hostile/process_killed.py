# Ways to end Python. Each part is the cell of one submission.

# %% exit_in_cell: leaves without a word
import os
os._exit(0)

# %% exit_in_call: leaves when it is called
import os
def dot_product_score(query, keys, W=None):
    os._exit(0)

# %% system_exit: asks politely
import sys
def dot_product_score(query, keys, W=None):
    sys.exit("1.5")

# %% kill_in_cell: the signal that cannot be caught
import os, signal
os.kill(os.getpid(), signal.SIGKILL)

# %% kill_in_call: the same, when it is called
import os, signal
def dot_product_score(query, keys, W=None):
    os.kill(os.getpid(), signal.SIGKILL)

# %% kill_everybody: every process that can be seen
import os, signal
def dot_product_score(query, keys, W=None):
    os.kill(-1, signal.SIGKILL)

# %% kill_the_parent: whoever started this
import os, signal
def dot_product_score(query, keys, W=None):
    os.kill(os.getppid(), signal.SIGKILL)

# %% segfault_in_cell: reads where nothing is
import ctypes
ctypes.string_at(0)

# %% segfault_in_call: the same, when it is called
import ctypes
def dot_product_score(query, keys, W=None):
    ctypes.string_at(0)

# %% abort: the C library's way
import os
def dot_product_score(query, keys, W=None):
    os.abort()

# %% stopped: stops itself and waits
import os, signal
def dot_product_score(query, keys, W=None):
    os.kill(os.getpid(), signal.SIGSTOP)

# %% replaced: becomes another program
import os, sys
def dot_product_score(query, keys, W=None):
    os.execv(sys.executable, [sys.executable, "-c", "print('other')"])

# %% endless_recursion: down to the end of the stack
import sys
sys.setrecursionlimit(10**9)
def dot_product_score(query, keys, W=None):
    return dot_product_score(query, keys)
