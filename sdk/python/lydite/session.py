"""The driver's side of the protocol: requests come in, methods are called, answers go out."""

from __future__ import annotations

import os
import socket
import sys
import sysconfig
import threading
import time
import traceback
from typing import Any, BinaryIO, Callable, Dict, Optional, Union

from ._msgpack import LONGEST, pack, unpack
from .driver import Driver
from .errors import Refused, Unavailable
from .keyvalue import KeyValue

PROTOCOL = 1

_here = threading.local()


class Connection:
    """A stream of messages."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source, self._sink = source, sink
        #: The request at hand.
        self.request = 0

    def receive(self) -> Any:
        """The next message; None when Lydite has gone."""
        head = self._source.read(4)
        if len(head) < 4:
            return None
        size = int.from_bytes(head, "big")
        if size > LONGEST:
            # Before memory is taken for it.
            raise ValueError(f"a message of {size} bytes came from Lydite, and {LONGEST} are allowed: is it Lydite?")
        body = self._source.read(size)
        return unpack(body) if len(body) == size else None

    def send(self, message: Dict[str, Any]) -> None:
        body = pack(message)
        self._sink.write(len(body).to_bytes(4, "big") + body)
        self._sink.flush()


def alive(doing: str, stored: int = 0) -> None:
    """Tells Lydite that the request at hand takes its time, and why: else it gives up after the timeout of its URL. For
    long work within `create`, `finish_load` and the like; Lydite shows it. `stored` is for `load_end`: rows that `load`
    kept back and that are stored since the last message."""
    connection = getattr(_here, "connection", None)
    if connection is not None:
        message = {"id": connection.request, "alive": doing}
        connection.send({**message, "stored": stored} if stored else message)


def _introduce(driver: Union[Driver, KeyValue], sessions: int) -> Dict[str, Any]:
    return {
        "protocol": PROTOCOL,
        "name": driver.name,
        "version": str(driver.version),
        "way": "key-value" if isinstance(driver, KeyValue) else "transactions",
        "guarantee": driver.guarantee,
        "isolation": driver.isolation,
        "durable": bool(driver.durable),
        "sessions": sessions,
        "settings": {str(name): str(value) for name, value in driver.settings().items()},
    }


def _explained(driver: Any, error: Exception) -> Refused:
    """The error in Lydite's words: its own, as the driver explains it, or as it stands."""
    if isinstance(error, Refused):
        return error
    if driver is not None:
        try:
            explained: Optional[Refused] = driver.explain(error)
        except Exception as another:
            error, explained = another, None
        if explained is not None:
            return explained
    traceback.print_exception(type(error), error, error.__traceback__)
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    # Where in the driver: the last place that is neither the SDK's nor a library's, else a library's.
    places = [(frame.f_code, line) for frame, line in reversed(list(traceback.walk_tb(error.__traceback__)))
              if os.path.dirname(os.path.abspath(frame.f_code.co_filename)) != _HERE]
    own = [place for place in places if not os.path.abspath(place[0].co_filename).startswith(_LIBRARIES)]
    for code, line in (own or places)[:1]:
        words += f" ({os.path.basename(code.co_filename)}, line {line}, in {code.co_name})"
    # At a commit nobody knows what came of it.
    return Unavailable(words) if getattr(driver, "committing", False) else Refused(words)


_HERE = os.path.dirname(os.path.abspath(__file__))
#: Folders of Python's own modules and of installed ones.
_LIBRARIES = tuple({path + os.sep for name, path in sysconfig.get_paths().items() if name.endswith("lib")})


def _run(connection: Connection, make: Callable[[], Union[Driver, KeyValue]], sessions: int) -> None:
    """Serves one connection to its end."""
    _here.connection = connection
    driver: Any = None
    try:
        while True:
            message = connection.receive()
            if message is None:
                return
            connection.request, what = message["id"], message["do"]
            try:
                if what == "hello":
                    driver = make()
                    answer = _introduce(driver, sessions)
                else:
                    answer = driver.handle(what, message["with"])
                reply = {"id": message["id"], "ok": {} if answer is None else answer}
            except Exception as error:  # every error of a driver is an answer, a pipe that its database broke too
                refused = _explained(driver, error)
            else:
                try:
                    connection.send(reply)
                    continue
                except (BrokenPipeError, ConnectionResetError):
                    raise
                except Exception as error:  # it can't be packed, and what was asked has been done
                    refused = Unavailable(f"the answer to {what} can't be sent: {type(error).__name__}: {error}")
            if driver is not None:
                try:
                    driver.failed(what)
                except Exception as error:
                    words = f"{refused.detail}; and then {type(error).__name__}: {error}"
                    if isinstance(refused, Unavailable):
                        refused.detail = words
                    else:
                        refused = Refused(words)
            connection.send({"id": message["id"], "error": refused.fields()})
    except (BrokenPipeError, ConnectionResetError):
        return
    finally:
        if driver is not None:
            driver.close()


def _listen(path: str, make: Callable[[], Union[Driver, KeyValue]], sessions: int) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(128)

    def accept() -> None:
        while True:
            try:
                stream, _ = listener.accept()
            except OSError as error:
                if listener.fileno() < 0:
                    return
                # Too many files are open, perhaps: others will be closed.
                print(f"a session can't be accepted: {error}", file=sys.stderr)
                time.sleep(0.1)
                continue
            connection = Connection(stream.makefile("rb"), stream.makefile("wb"))
            threading.Thread(target=_run, args=(connection, make, sessions), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def serve(make: Callable[[], Union[Driver, KeyValue]], sessions: int = 1) -> None:
    """Serves Lydite until it goes. `make` makes the driver of a session: a class, or a function without parameters.

    Lydite starts a process for each session, unless the process takes more: `sessions` at the same time, each on a thread
    and with an object of its own; 0 for any number. That is for stores that live within the process; Python threads do
    not make it faster.
    """
    # Whatever is printed would be no message: it goes to standard error, and a child process gets no request to read.
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if sys.stdout is not None and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)
    if sessions != 1:
        path = os.environ.get("LYDITE_SOCKET")
        if path is None:
            raise SystemExit("this is a driver: it is started by Lydite, as in: lydite driver test driver:./this")
        _listen(path, make, sessions)
    _run(Connection(source, sink), make, sessions)
    sys.stderr.flush()
    # Other sessions' threads, and what they wait for, end with the process.
    os._exit(0)
