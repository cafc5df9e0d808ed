# Leaving something behind for whoever comes next. Each part is the cell of one submission.

# %% files: in every folder that can be written
for folder in ("/scratch", "/dev/shm", "/tmp", "/var/tmp"):
    try: open(f"{folder}/left", "w").write("left")
    except OSError: pass

# %% processes: one that lives on
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(300)
    os._exit(0)

# %% modules: changed where they were imported
import numpy as np, torch
np.tanh = np.exp
torch.tanh = torch.exp
np.LEFT = torch.LEFT = "left"

# %% random: the same numbers for everybody
import random, numpy as np, torch
np.random.seed(0); random.seed(0); torch.manual_seed(0)

# %% environment: for every process after this
import os
os.environ["LEFT"] = "left"
os.environ["PYTHONSTARTUP"] = "/scratch/left"
os.umask(0o777)

# %% shell: hooks in the notebook's shell
get_ipython().events.register("pre_run_cell", lambda info: print("left"))
get_ipython().push({"LEFT": "left"})

# %% shared_memory: a block with a name
from multiprocessing import shared_memory
block = shared_memory.SharedMemory(name="left", create=True, size=1000)

# %% sockets: one that waits for somebody
import socket
server = socket.socket(socket.AF_UNIX)
server.bind("\0left")
server.listen()

# %% every_folder: in whatever can be written, wherever it is
import os
for folder, names, files in os.walk("/"):
    names[:] = [name for name in names if os.path.join(folder, name) not in ("/usr", "/proc", "/sys")]
    try: open(os.path.join(folder, "left"), "w").write("left")
    except OSError: pass

# %% devices: what everybody has open, changed
import fcntl, os
for n in range(3):
    try: fcntl.fcntl(n, fcntl.F_SETFL, os.O_APPEND | os.O_NONBLOCK)
    except OSError: pass
for name in os.listdir("/dev"):
    try: os.chmod(f"/dev/{name}", 0o600)
    except OSError: pass
