"""The warm process inside the outer sandbox: it imports everything once and forks one child for each submission.

In: what all submissions have in common, then orders, each with two pipes to the host, on a socket (descriptor 0).
Out: how each child ended. It never runs student code, cannot be traced, and has one child at a time: the next one
starts when the last one, and everything it started, is dead. Each child enters its own namespaces, folders and system
call filter before it reads its first request. After each child, the zygote inspects every writable place; the host
ends a zygote in which something was left.
"""

import base64
import ctypes
import fcntl
import gc
import json
import mmap
import os
import random
import resource
import select
import signal
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np
import worker

CLONE_NEW = {"mount": 0x20000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000, "pid": 0x20000000}
CLONE_NEW |= {"net": 0x40000000}
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 1, 2, 4, 0x4000, 0x40000
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 4, 22, 24, 36, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, SECCOMP_MODE_FILTER = 47, 4, 2
LAST_CAPABILITY = 63
EXIT_GRACE_SECONDS = 10.0  # seconds that a process may take to exit after closing its pipes
MAP_FIXED = 0x10
MADV_COLLAPSE = 25  # from Linux 6.1 on; elsewhere it is refused, and nothing changes
HUGE_PAGE_BYTES = 2**21
COLLAPSE_AFTER_CHILDREN = 3  # for fewer, collapsing would cost more than it saves
VIRTUAL_FS = ("proc", "devpts")  # interfaces of the kernel, which store no files

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    prepared = json.loads(control.recv(1 << 20))
    shell = _warm_up(prepared)
    _prctl(PR_SET_DUMPABLE, 0)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        sys.exit(f"the zygote has {threads} threads, and a fork would copy only one of them")
    shared = _find_shared_memory()
    os.dup2(null, 2)
    gc.collect()
    gc.freeze()  # so that the children's collections skip these objects
    folders = writable_folders()
    clean = _snapshot(folders)
    control.send(b'{"ready": true}')
    served = 0
    while True:
        order, pipes, _, _ = socket.recv_fds(control, 1 << 16, 2)
        if not order:
            os._exit(0)
        if pipes:  # without pipes, the order is to end a child that has already ended
            answer = _serve(control, {**json.loads(order), "shared": shared}, pipes, shell)
            control.send(json.dumps({**answer, "left": _snapshot(folders) != clean}).encode())
            served += 1
            if served == COLLAPSE_AFTER_CHILDREN:
                _collapse_huge_pages()


def writable_folders() -> list[str]:
    """Return the mount points of this sandbox that are folders and not read-only, without the kernel's own."""
    writable = set()
    with open("/proc/self/mountinfo") as file:
        for line in file:
            before, _, after = line.partition(" - ")
            place, options = before.split()[4:6]
            kind, _, of_all = after.split()[:3]
            place = place.encode().decode("unicode_escape").encode("latin-1").decode(errors="surrogateescape")
            read_only = "ro" in options.split(",") or "ro" in of_all.split(",")
            if os.path.isdir(place) and not read_only and kind not in VIRTUAL_FS:
                writable.add(place)
    return sorted(writable)


def _snapshot(folders):
    """Return the state of all files in ``folders``, which differs after any of them is created, changed or removed."""
    states = {}
    for top in folders:
        for folder, names, files in os.walk(top):
            for path in (folder, *(os.path.join(folder, name) for name in (*names, *files))):
                state = os.lstat(path)
                states[path] = (state.st_ino, state.st_mode, state.st_size, state.st_ctime_ns)
    return states


def _mappings():
    """Return ``[(first, last, rights, [name])]`` for the memory mappings of this process."""
    with open("/proc/self/maps") as file:
        lines = [line.split() for line in file]
    return [(*(int(end, 16) for end in place.split("-")), rights, name) for place, rights, _, _, _, *name in lines]


def _find_shared_memory():
    """Return ``[(first, last)]`` of the memory in which a child could leave something for the next one to read."""
    return [(first, last) for first, last, rights, _ in _mappings() if rights[1::2] == "ws"]


def _collapse_huge_pages(seconds=1.0):
    """Ask the kernel to move this process's memory into huge pages, for at most ``seconds``.

    A fork copies the page table, and the exit of a child walks it again: both take longer with small pages.
    """
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    end = time.monotonic() + seconds
    for first, last, rights, name in _mappings():
        if rights == "rw-p" and name in ([], ["[heap]"]):
            for page in range(
                -(-first // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES, last - HUGE_PAGE_BYTES + 1, HUGE_PAGE_BYTES
            ):
                if time.monotonic() > end:
                    return
                libc.madvise(page, HUGE_PAGE_BYTES, MADV_COLLAPSE)


def _privatise_shared_memory(shared):
    """Replace ``shared`` memory by private copies, for this process and those that it forks."""
    libc.mmap.restype = ctypes.c_void_p
    for first, last in shared:
        content = ctypes.string_at(first, last - first)
        rights = mmap.PROT_READ | mmap.PROT_WRITE
        kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_FIXED
        size = ctypes.c_size_t(last - first)
        _raise_on_error(libc.mmap(ctypes.c_void_p(first), size, rights, kind, -1, ctypes.c_long(0)) != first, "mmap")
        ctypes.memmove(first, content, last - first)


def _warm_up(prepared):
    """Import what notebooks use and use it once, so that no submission waits for it. No backward pass: it starts threads.

    No code of the releases is run: IPython only transforms it, and the checks are compiled.
    """
    import bdb  # noqa: F401  needed, like the two below, when a cell fails or a check looks at its first array

    import IPython.core.logger  # noqa: F401
    import numpy.ma  # noqa: F401
    import torch

    torch.set_num_threads(1)
    shell = worker.make_shell()
    weights = torch.nn.Parameter(torch.ones(4, 4))
    if prepared["optimiser"]:  # it takes as long to import as torch itself
        weights.grad = torch.ones(4, 4)
        torch.optim.Adam([weights]).step()
    with torch.no_grad():
        torch.softmax(torch.nn.Linear(4, 4)(weights).tanh(), dim=-1)
        torch.einsum("ij,jk->ik", weights, weights)
    np.linalg.norm(np.ones((3, 3)) @ np.ones((3, 3)))
    if prepared["pictures"]:
        import matplotlib.pyplot as plt

        figure = plt.figure()
        figure.add_subplot().plot([0, 1], label="$x$")
        figure.canvas.draw()
        plt.close(figure)
    try:
        exec(compile("1/0", "cell.py", "exec"), {})
    except ZeroDivisionError as error:
        shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__)
    shell.prepare(prepared["sources"])
    return shell


def _serve(control, order, pipes, shell):
    """Fork the child for one submission; return how it ended, once it and everything it started is dead."""
    reports, report = os.pipe()
    helper = os.fork()
    if helper == 0:
        try:
            control.close()
            os.close(reports)
            _enter_namespaces(order, pipes, report, shell)
        except BaseException as error:
            os.write(report, _format_error(error))
        finally:
            os._exit(0)
    for descriptor in (*pipes, report):
        os.close(descriptor)
    os.waitpid(helper, 0)
    child, _, failed = os.read(reports, 1000).decode(errors="replace").partition("!")
    if not child:
        os.close(reports)
        return {"failed": failed or "the child's helper died"}
    child = int(child)
    running = os.pidfd_open(child)
    ready, _, _ = select.select([running, control], [], [])
    by_itself = running in ready
    if not by_itself and json.loads(control.recv(1 << 16) or "{}").get("gone"):  # its pipes are closed: it is dying
        by_itself = bool(select.select([running], [], [], EXIT_GRACE_SECONDS)[0])
    os.close(running)
    if not by_itself:
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)  # returns when the whole pid namespace is empty
    # written before any student code ran
    failed = failed or os.read(reports, 1000).decode(errors="replace").lstrip("!")
    os.close(reports)
    # The first process of a namespace can only be killed from outside.
    killed = by_itself and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    used = usage.ru_utime + usage.ru_stime
    return {"ended": True, "killed": killed, "used": used, **({"failed": failed} if failed else {})}


def _enter_namespaces(order, pipes, report, shell):
    """Enter fresh namespaces, fork the child into them and report its process id. No student code runs here."""
    _privatise_shared_memory(order["shared"])
    _prctl(PR_SET_DUMPABLE, 1)  # otherwise, /proc/self/uid_map is not writable
    user, group = os.getuid(), os.getgid()
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # if memory runs out, the submission is killed first
    _raise_on_error(libc.unshare(sum(CLONE_NEW.values())), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    _mount(None, "/", None, MS_REC | MS_PRIVATE, None)
    size = order["disk_mb"] * 2**20
    for folder in ("/scratch", "/dev/shm"):
        _mount("none", folder, "tmpfs", MS_NOSUID | MS_NODEV, f"size={size},mode=0700")
    os.mkdir("/scratch/tmp")
    os.chdir("/scratch")
    _mount("none", "/proc", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "size=4k,mode=0555")
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go)
        os.read(ready, 1)  # until its process id has been reported
        _become_worker(order, pipes, report, shell)
    os.write(report, str(child).encode())


def _become_worker(order, pipes, report, shell):
    """Drop all privileges and become the worker, the first process of its namespace: when it dies, all others do.

    Errors on the way are written to ``report``, which is closed before student code runs.
    """
    try:
        os.setsid()
        socket.sethostname("sandbox")
        for number in range(LAST_CAPABILITY + 1):
            libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)  # EINVAL for numbers that this kernel does not have
        _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
        header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        _raise_on_error(libc.capset(header, nothing), "capset")
        _prctl(PR_SET_NO_NEW_PRIVS, 1)
        null = os.open(os.devnull, os.O_RDWR)  # not the zygote's: flags set on it would persist
        for number in range(3):
            os.dup2(null, number)
        aside = [fcntl.fcntl(pipe, fcntl.F_DUPFD, 64) for pipe in (*pipes, report)]
        requests, replies, report = (os.dup2(pipe, number, inheritable=False) for number, pipe in enumerate(aside, 3))
        os.closerange(6, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        _install_filter(base64.b64decode(order["filter"]))
        seed = int.from_bytes(os.urandom(4))
        random.seed(seed)
        np.random.seed(seed)
        sys.modules["torch"].manual_seed(seed)
    except BaseException as error:
        os.write(report, _format_error(error))
        os._exit(0)
    try:
        os.close(report)
        worker.serve(os.fdopen(requests, "r"), replies, shell)
    finally:
        os._exit(0)


def _format_error(error):
    return f"!{type(error).__name__}: {error}"[:500].encode()


def _install_filter(program):
    """Make the kernel refuse the calls that ``seccomp.program`` lists, from now on, here and in all processes started here."""
    if not program:
        return
    code = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    filled = Program(len(program) // 8, ctypes.addressof(code))
    _raise_on_error(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filled), 0, 0), "seccomp")


def _mount(source, target, kind, flags, options):
    text = [None if item is None else item.encode() for item in (source, target, kind, options)]
    _raise_on_error(libc.mount(*text[:3], ctypes.c_ulong(flags), text[3]), f"mount {target}")


def _prctl(option, value):
    _raise_on_error(libc.prctl(option, value, 0, 0, 0), f"prctl {option}")


def _raise_on_error(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    main()
