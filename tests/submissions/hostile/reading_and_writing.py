# Looking where there is nothing to see. Each part is the cell of one submission; what it prints must hold no "FOUND".

# %% course_files: the key, the solutions, the gradebook
import os
for folder, names, files in os.walk("/"):
    names[:] = [name for name in names if os.path.join(folder, name) not in ("/usr", "/sys", "/proc", "/dev", "/lib")]
    names[:] = [name for name in names if name != "site-packages"]
    for name in {"answer_key", "submitted", "solutions", "autograder", "gradebook.db"} & {*names, *files}:
        print("FOUND", folder, name)

# %% imports: the course as a package
for name in ("solutions", "autograder", "solutions.answer_key", "tests"):
    try:
        __import__(name)
        print("FOUND", name)
    except ImportError:
        pass

# %% environment: what the grader's environment says
import os
for name in ("SECRET_TOKEN", "SSH_AUTH_SOCK", "PYTHONPATH", "VIRTUAL_ENV"):
    if name in os.environ: print("FOUND", name)

# %% descriptors: files that were left open
import os, stat
for n in range(3, 256):
    try: mode = os.fstat(n).st_mode
    except OSError: continue
    if not stat.S_ISFIFO(mode): print("FOUND", n, oct(mode))

# %% proc: other processes and their memory
import os
for n in range(1, 400):
    try: text = open(f"/proc/{n}/environ", "rb").read()
    except OSError: continue
    if b"SECRET" in text: print("FOUND", n)

# %% network: any address
import socket
for address in (("127.0.0.1", 22), ("192.0.2.1", 80)):
    try:
        socket.create_connection(address, timeout=1)
        print("FOUND", address)
    except OSError: pass

# %% vsock: the way to the machine's host
import socket
try:
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
    print("FOUND vsock")
except OSError: pass

# %% netlink: asks the kernel about the network
import socket
try:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    print("FOUND netlink")
except OSError: pass

# %% mount: covers a folder
import ctypes
if ctypes.CDLL(None).mount(b"none", b"/scratch", b"tmpfs", 0, None) == 0: print("FOUND mount")

# %% uncover: takes away what covers a folder
import ctypes
for folder in (b"/proc", b"/scratch", b"/dev/shm"):
    if ctypes.CDLL(None).umount2(folder, 2) == 0: print("FOUND umount")

# %% namespace: makes a new one to be root in
import ctypes
if ctypes.CDLL(None).unshare(0x10000000) == 0: print("FOUND unshare")

# %% ptrace: another process's memory
import ctypes
libc = ctypes.CDLL(None)
for n in range(1, 50):
    if n != __import__("os").getpid() and libc.ptrace(16, n, 0, 0) == 0: print("FOUND", n)

# %% keyring: the kernel's keys
import ctypes
if ctypes.CDLL(None, use_errno=True).syscall(250, 0, -3, 0) >= 0: print("FOUND keyctl")

# %% io_uring: a ring that goes round filters
import ctypes
buffer = ctypes.create_string_buffer(256)
if ctypes.CDLL(None).syscall(425, 4, buffer) >= 0: print("FOUND ring")

# %% becoming_root: asks to be another user
import os
for call in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0])):
    try:
        call()
        print("FOUND", os.getuid())
    except OSError: pass

# %% limits: raises its own
import resource
for kind in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE):
    try:
        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print("FOUND", kind)
    except (ValueError, OSError): pass

# %% writing: where the worker's files are
for path in ("/worker/worker.py", "/worker/compare.py", "/usr/lib/mark", "/etc/mark", "/mark"):
    try:
        open(path, "w").write("print('mine')")
        print("FOUND", path)
    except OSError: pass

# %% daemon: waits until nobody looks
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(12)
        open("/scratch/late", "w").write("late")
    os._exit(0)

# %% own_numpy: a module beside the notebook
open("numpy.py", "w").write("allclose = lambda *args: True")
import importlib, sys
sys.path.insert(0, "")
sys.modules.pop("numpy.testing", None)

# %% sitecustomize: for every Python that is started later
import os
for folder in (os.environ["HOME"], os.path.join(os.environ["HOME"], ".local/lib/python3.11/site-packages")):
    os.makedirs(folder, exist_ok=True)
    open(os.path.join(folder, "sitecustomize.py"), "w").write("import os; os._exit(0)")

# %% installed: the course among the packages
import os, sys
for place in (*sys.path, sys.prefix):
    for folder, names, files in os.walk(place):
        if "answer_key" in names: print("FOUND", folder)

# %% mounts: what the kernel says about the host's folders
import ctypes
for number in (457, 458):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, 0, 0, 0, 0) >= 0 or ctypes.get_errno() not in (1, 38): print("FOUND an answer")

# %% open_tree: a folder to hang elsewhere, by the newer call too
import ctypes
libc = ctypes.CDLL(None)
for number in (428, 467):
    if libc.syscall(number, -100, b"/", 0o2000000, None, 0) >= 0: print("FOUND tree", number)
