"""Commands to see a tuning with: report, serve."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from capra.cli.app import AsJson, RunFolder, app
from capra.cli.output import print_json, say


@app.command()
def report(
    run: RunFolder,
    out: Annotated[
        Path | None, typer.Option(help="The file to write; report.html in the folder otherwise.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write what a tuning found, and why to believe it, as one HTML page that needs nothing else."""
    from capra.report.html import write_report

    written = write_report(run, out)
    if as_json:
        print_json(written)
    else:
        say(f"wrote {escape(written['report'])} ({written['bytes'] / 1e6:.2g} MB); open it in a browser")


@app.command()
def serve(
    runs: Annotated[list[Path], typer.Argument(help="Folders of tunings, as given to tune --out.", metavar="RUN...")],
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes any that is free.", min=0, max=65535)] = 0,
    as_json: AsJson = False,
) -> None:
    """Show tunings live in the browser while they go on; several of them side by side. Ctrl-C ends it."""
    from capra.report.serve import Server

    with Server(runs, port) as server:
        if as_json:
            print_json({"url": server.url, "runs": [str(run) for run in runs]})
        else:
            say(f"{server.url}  (Ctrl-C ends it)")

        def stop(*_: object) -> None:
            threading.Thread(target=server.stop).start()  # the loop that it waits for is below us

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        server.serve()
