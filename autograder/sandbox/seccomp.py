"""Build the filter by which the kernel refuses system calls that a submission does not need.

In: the machine's architecture. Out: a classic BPF program as bytes, for ``bwrap --seccomp`` and for ``prctl``. Pure.

Everything is allowed except new namespaces, mounts, other processes' memory, the kernel's keys, tracing, loading code into
the kernel, io_uring (it bypasses filters), non-local sockets, memory that belongs to no process or folder (no limit counts
it), lists of this machine's mounts, and administration (reboot, swap, quotas, logs). A refused call does nothing and fails
with EPERM; ``clone3``, whose flags a filter cannot read, fails with ENOSYS, so that the C library falls back to ``clone``.
"""

import platform
import struct

EPERM, ENOSYS = 1, 38
AF_UNIX = 1
NEW_NAMESPACES = 0x7E020080  # CLONE_NEW: user, pid, net, ipc, uts, mount, cgroup, time
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data

# Name -> number, on x86_64 and on aarch64.
REFUSED = {
    "ptrace": (101, 117),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "acct": (163, 89),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "quotactl": (179, 60),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "setns": (308, 268),
    "perf_event_open": (298, 241),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "pidfd_getfd": (438, 438),
    "mount_setattr": (442, 442),
    "memfd_secret": (447, 447),
    "memfd_create": (319, 279),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "statmount": (457, 457),
    "listmount": (458, 458),
    "open_tree_attr": (467, 467),
    "syslog": (103, 116),
}
MACHINES = {
    # AUDIT_ARCH, column above, socket, clone, clone3, first number of another calling convention (x32)
    "x86_64": (0xC000003E, 0, 41, 56, 435, 0x40000000),
    "aarch64": (0xC00000B7, 1, 198, 220, 435, None),
}


def program(machine: str | None = None, local_sockets: bool = True) -> bytes:
    """Return the filter for ``machine`` as bytes, or b"" for an unknown architecture.

    Without ``local_sockets``, it refuses Unix sockets too, for workers within reach of the machine's own sockets.
    """
    known = MACHINES.get(machine or platform.machine())
    if known is None:
        return b""
    architecture, column, socket, clone, clone3, foreign = known
    lines = [(LOAD, 0, 0, ARCHITECTURE), (JUMP_EQUAL, 1, 0, architecture), (RETURN, 0, 0, KILL), (LOAD, 0, 0, NUMBER)]
    if foreign:
        lines += [(JUMP_AT_LEAST, 0, 1, foreign), (RETURN, 0, 0, KILL)]
    for numbers in REFUSED.values():
        lines += [(JUMP_EQUAL, 0, 1, numbers[column]), (RETURN, 0, 0, ERRNO | EPERM)]
    lines += [(JUMP_EQUAL, 0, 1, clone3), (RETURN, 0, 0, ERRNO | ENOSYS)]
    # clone: refuse flags that create a namespace
    lines += [(JUMP_EQUAL, 0, 4, clone), (LOAD, 0, 0, FIRST_ARGUMENT), (JUMP_ANY_BIT, 0, 1, NEW_NAMESPACES)]
    lines += [(RETURN, 0, 0, ERRNO | EPERM), (RETURN, 0, 0, ALLOW)]
    if not local_sockets:
        lines += [(JUMP_EQUAL, 0, 1, socket), (RETURN, 0, 0, ERRNO | EPERM)]
    # socket: local ones only
    lines += [(JUMP_EQUAL, 0, 3, socket), (LOAD, 0, 0, FIRST_ARGUMENT), (JUMP_EQUAL, 1, 0, AF_UNIX)]
    lines += [(RETURN, 0, 0, ERRNO | EPERM), (RETURN, 0, 0, ALLOW)]
    return b"".join(struct.pack("HBBI", *line) for line in lines)
