"""Options that several commands share, and an option for each of the ``Limits``."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from autograder.sandbox import Limits

CoursePath = Annotated[Path, typer.Option("--course", help="The course directory.")]
Isolation = Annotated[
    str | None,
    typer.Option(
        help="zygote: warm sandbox, fresh namespaces for each submission. "
        "container: Podman or Docker. user: a different user, inside a container for each. none: trusted submissions only."
    ),
]
Students = Annotated[list[str] | None, typer.Argument(help="Only these students; by default all.")]
Sections = Annotated[
    list[str] | None,
    typer.Option("--section", help="Only students of this section of the roster; may be given several times."),
]
Workers = Annotated[int | None, typer.Option(min=1, help="Submissions to run at once; by default one per core.")]
Scheduler = Annotated[
    str, typer.Option(help="Address of a dask scheduler, tls://HOST:PORT: run on its workers instead.")
]
TlsCa = Annotated[str, typer.Option(help="CA certificate that signed the cluster's certificates.")]
TlsCert = Annotated[str, typer.Option(help="This machine's certificate; by default from dask's configuration.")]
TlsKey = Annotated[str, typer.Option(help="The certificate's private key.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
Topic = Annotated[str, typer.Argument(help="The assignment, named after its chapter: scoring.")]


def add_limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give ``command`` an option for each limit; it receives those that were given as the dict ``limits``."""
    options = [
        inspect.Parameter(
            limit.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                limit.type | None,
                typer.Option(
                    min=limit.metadata["least"],
                    help=limit.metadata["help"],
                    show_default=f"{limit.default:g} or nbgrader_config.py",
                ),
            ],
        )
        for limit in fields(Limits)
    ]
    signature = inspect.signature(command)
    others = [parameter for parameter in signature.parameters.values() if parameter.name != "limits"]

    @functools.wraps(command)
    def limited(**arguments):
        limits = {limit.name: arguments.pop(limit.name) for limit in options}
        command(**arguments, limits={name: value for name, value in limits.items() if value is not None})

    vars(limited)["__signature__"] = signature.replace(parameters=[*others, *options])
    limited.__annotations__ = {each.name: each.annotation for each in (*others, *options)}
    return limited
