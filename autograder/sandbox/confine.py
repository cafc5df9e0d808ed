"""Install the kernel's system call filter and become the worker, as bubblewrap does by itself.

In: the filter of ``seccomp.program`` as base64, then a command. Out: nothing; it becomes the command. It already runs as
another, unprivileged user, who cannot read the project, so it uses the standard library only.
"""

import base64
import ctypes
import os
import sys

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2


class Program(ctypes.Structure):
    """The kernel's struct sock_fprog."""

    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def main() -> None:
    program, command = base64.b64decode(sys.argv[1]), sys.argv[2:]
    code = ctypes.create_string_buffer(program, len(program))
    filled = Program(len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if not program or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filled), 0, 0) != 0:
        sys.exit(f"the system call filter cannot be installed: {os.strerror(ctypes.get_errno())}")
    try:
        os.execv(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]} cannot be started by another user: {error.strerror}")


if __name__ == "__main__":
    main()
