"""Run submissions on the workers of a dask cluster instead of this machine.

In: the address of a scheduler. Out: an executor like any other. Opens a connection to the scheduler.
"""

import contextlib

from autograder import doctor
from autograder.errors import CourseError

PATIENCE = 20  # seconds that the scheduler and its first worker may take to answer


@contextlib.contextmanager
def executor(address, isolation):
    """Give an executor on the cluster at ``address``, after the canary was stopped on every one of its machines.

    Raises
    ------
    CourseError
        If nobody answers, if there is no worker, or if a submission could leave the sandbox on one of them.
    """
    from distributed import Client

    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise CourseError(
            f"no dask scheduler answers ({type(error).__name__})",
            address,
            "start one with `dask scheduler`, and name the address that it prints.",
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise CourseError("the scheduler has no worker", address, f"start one: `dask worker {address}`.") from None
        _examine(client, isolation)
        pool = client.get_executor(pure=False, retries=2)
        pool.workers = sum(client.nthreads().values())
        yield pool


def _examine(client, isolation, examine=doctor.examine):
    """Send the canary into the sandbox of every worker."""
    if isolation == "none":
        return
    for worker, findings in client.run(examine, isolation, on_error="return").items():
        if isinstance(findings, BaseException):
            raise CourseError(f"the worker has no sandbox: {findings}", worker, "mend or stop that worker.")
        escaped = [what for what, stopped in findings if not stopped]
        if escaped:
            raise CourseError(f"a submission could leave the sandbox: it {escaped[0]}", worker, "stop that worker.")
