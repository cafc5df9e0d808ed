# Using more than there is. Each part is the cell of one submission.

# %% loop_in_cell: swallows every interrupt
import time
while True:
    try: time.sleep(9)
    except BaseException: pass

# %% loop_in_call: swallows every interrupt, when it is called
import time
def dot_product_score(query, keys, W=None):
    while True:
        try: time.sleep(9)
        except BaseException: pass

# %% alarm_off: takes the clock away, then loops
import signal
def dot_product_score(query, keys, W=None):
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    while True: pass

# %% loop_in_c: a pattern that never ends, where no interrupt is seen
import re
def dot_product_score(query, keys, W=None):
    return re.match(r"(a+)+$", "a" * 60 + "b")

# %% private_memory: eight gigabytes
block = bytearray(8 * 2**30)

# %% many_memories: each child takes what one process may
import os, time
for _ in range(6):
    if os.fork() == 0:
        block = bytearray(900 * 2**20)
        time.sleep(60)
        os._exit(0)

# %% shared_memory: a file in memory
with open("/dev/shm/big", "wb") as file:
    for _ in range(4000): file.write(bytes(2**20))

# %% disk: a file that grows
with open("big", "wb") as file:
    for _ in range(4000): file.write(bytes(2**20))

# %% many_files: as many as will go
import os
for n in range(200_000):
    open(f"file-{n}", "w").close()

# %% fork_storm: children of children
import os
while True:
    try: os.fork()
    except OSError: break

# %% thread_storm: as many threads as will go
import threading, time
for _ in range(5000):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()

# %% open_files: as many descriptors as will go
kept = [open("/dev/null") for _ in range(100_000)]

# %% flood_of_text: a hundred megabytes of output
for _ in range(1_000_000): print("x" * 100)

# %% flood_of_displays: ten thousand outputs
from IPython.display import display
for n in range(10_000): display(n)

# %% flood_of_markup: one display that is very long
from IPython.display import HTML, display
display(HTML("<b>" * 20_000_000))

# %% long_traceback: an exception with very much to say
raise ValueError("x" * 50_000_000)

# %% big_number: counts for a long time
def dot_product_score(query, keys, W=None):
    return 7 ** (10 ** 9)

# %% long_list: ten million numbers
def dot_product_score(query, keys, W=None):
    return [0.0] * 10_000_000

# %% deep_list: a list in a list in a list
def dot_product_score(query, keys, W=None):
    value = 0.0
    for _ in range(10_000): value = [value]
    return value

# %% circular_list: a list that holds itself
def dot_product_score(query, keys, W=None):
    value = []
    value.append(value)
    return value

# %% clock_off: right answers, each later than a call may take
import signal, time
import numpy as np
def dot_product_score(query, keys, W=None):
    signal.setitimer(signal.ITIMER_REAL, 0)
    time.sleep(6)
    return np.einsum("bn,bjn->bj", query, keys)

# %% nobodys_memory: memory in no folder, and in no process
import ctypes, mmap
libc = ctypes.CDLL(None)
for _ in range(200):
    for number in (libc.memfd_create(b"big", 0), libc.shmget(0, 2**26, 0o1600), libc.semget(0, 32000, 0o1600)):
        if number >= 0: print("FOUND memory", number)
