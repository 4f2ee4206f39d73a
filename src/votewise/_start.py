"""Ctrl-C while the command still imports what it needs: it ends without a traceback.

The package imports this module before all others, because imports take most of the time before the command itself can
handle a signal. This one imports only what Python has imported itself by then: reading another file can take long
enough to be interrupted, too. Where votewise is used as a library, nothing changes.
"""

import _signal  # type: ignore[import-not-found]  # which `signal` wraps
import os
import sys


def is_command() -> bool:
    """Whether this process was started as `votewise` or `python -m votewise`."""
    if sys.argv[:1] == ["-m"]:  # Python puts the path of the module here only once it has imported the package
        return ("-m", "votewise") in zip(sys.orig_argv, sys.orig_argv[1:], strict=False)
    return os.path.basename("".join(sys.argv[:1])) in ("votewise", "votewise.exe")  # noqa: PTH119


if is_command() and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # until `run` sets its own handler; ignored signals stay ignored
