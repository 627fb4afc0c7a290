"""The possible errors, each with the exit code that reports it (the codes of the headrace command)."""


class ReportError(Exception):
    """An error to report in one line."""

    exit_code = 1


class RunFileError(ReportError):
    """The run file cannot be read or breaks the contract; nothing was written."""

    exit_code = 2


class MissingLibrary(ReportError):
    """A Python library that the page needs is not installed."""


class Inconsistent(ValueError):
    """Raised by check(): the parts of an object do not fit together; `at` is the wrong key within it."""

    def __init__(self, what: str, at: str = "") -> None:
        super().__init__(what)
        self.at = at
