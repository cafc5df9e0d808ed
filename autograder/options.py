"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

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
