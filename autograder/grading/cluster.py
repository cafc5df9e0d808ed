"""Run submissions on the workers of a dask cluster instead of this machine.

Anyone who can reach a scheduler can run code on its workers, so every connection is encrypted and requires a
certificate (TLS).
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from autograder.errors import CourseError
from autograder.sandbox import doctor

CONNECT_SECONDS = 20  # for the scheduler, and for its first worker
Result = TypeVar("Result")
CERTIFICATES = (
    "give the scheduler, the workers and this command certificates: --tls-ca FILE --tls-cert FILE --tls-key FILE here, or "
    "distributed.comm.tls in dask's configuration; `Many machines` on the instructors' page shows how to make them."
)


@dataclass(frozen=True)
class Certificates:
    """Files that identify this machine; "" means the one in dask's configuration."""

    ca: str = ""
    cert: str = ""
    key: str = ""


@dataclass(frozen=True)
class CheckedExecutor:
    """An executor each of whose workers has to stop the canary once before it runs anything."""

    pool: Executor
    isolation: str
    hidden: tuple[str, ...]
    workers: int

    def submit(self, task: Callable[..., Result], *args: object) -> Future[Result]:
        return self.pool.submit(_check_sandbox_then_run, self.isolation, self.hidden, task, *args)


@contextlib.contextmanager
def executor(
    address: str, isolation: str, hidden: Iterable[str] = (), certificates: Certificates = Certificates()
) -> Iterator[CheckedExecutor]:
    """Yield an executor on the cluster at ``address``, once every worker has stopped the canary.

    ``hidden`` lists paths that submissions must not see on any of them. A worker that joins later meets the canary first.
    Raises CourseError if the connection would not be encrypted, if no scheduler answers, if there is no worker, or if a
    submission could escape from the sandbox on one of them.
    """
    if not address.casefold().startswith("tls://"):
        what = "without TLS, anyone who can reach this scheduler can run code as its workers"
        raise CourseError(what, f"--scheduler {address}", f"name it as tls://HOST:PORT, and {CERTIFICATES}")
    from distributed import Client

    address = f"tls://{address[len('tls://') :]}"  # dask knows it in lower case only
    try:
        client = Client(address, security=_security(certificates), timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        what = f"no dask scheduler answers there with these certificates ({type(error).__name__})"
        remedy = f"start one with TLS, and name the address that it prints; {CERTIFICATES}"
        raise CourseError(what, address, remedy) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError:
            remedy = f"start one, with its certificates: `dask worker {address} ...`."
            raise CourseError("the scheduler has no worker", address, remedy) from None
        _require_sandboxes(client, isolation, hidden)
        pool = client.get_executor(pure=False, retries=2)
        threads = cast("dict[str, int]", client.nthreads())  # a coroutine only if the client is asynchronous
        yield CheckedExecutor(pool, isolation, tuple(hidden), sum(threads.values()))


def _security(certificates):
    """Return dask's settings for an encrypted connection."""
    from distributed.security import Security

    paths = {"tls_ca_file": certificates.ca, "tls_client_cert": certificates.cert, "tls_client_key": certificates.key}
    security = Security(require_encryption=True, **{name: str(path) for name, path in paths.items() if path})
    files = {name: getattr(security, name) for name in paths}
    for name, file in files.items():
        if not file and name != "tls_client_key":  # a key may be in the file of its certificate
            raise CourseError(f"no certificate is named ({name.replace('_', '-')})", "--scheduler", CERTIFICATES)
        if file and "\n" not in file and not Path(file).is_file():
            raise CourseError("there is no such file", file, CERTIFICATES)
    try:
        security.get_connection_args("client")
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        where = ", ".join(filter(None, files.values()))
        raise CourseError(f"these certificates cannot be used ({error})", where, CERTIFICATES) from None
    return security


def _check_sandbox_then_run(isolation, hidden, task, *args):
    try:
        doctor.require_once(isolation, hidden)
    except CourseError as error:
        where = "this machine"
        with contextlib.suppress(ValueError):  # raised in a thread of this process, as in the tests
            from distributed import get_worker

            where = get_worker().address
        raise CourseError(error.args[0], where, f"stop that worker, or fix it: {error.args[2]}") from None
    return task(*args)


def _require_sandboxes(client, isolation, hidden=(), examine=doctor.examine):
    """Send the canary into the sandbox of every worker."""
    if isolation == "none":
        return
    for worker, findings in client.run(examine, isolation, None, hidden, on_error="return").items():
        if isinstance(findings, BaseException):
            raise CourseError(f"the worker has no sandbox: {findings}", worker, "fix or stop that worker.")
        escaped = [what for what, stopped in findings if not stopped]
        if escaped:
            raise CourseError(
                f"a submission could escape from the sandbox: it {escaped[0]}", worker, "stop that worker."
            )
