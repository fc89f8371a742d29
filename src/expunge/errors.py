"""The one error tree. A message says what, got, expected, and what to do."""


class ExpungeError(Exception):
    """Everything that Expunge raises on purpose."""


class ConfigError(ExpungeError, ValueError):
    """A value that was asked for makes no sense."""


class DataError(ExpungeError, ValueError):
    """A file or a data set is not what it should be."""


class CertificationError(ExpungeError):
    """The guarantee does not hold, so there is no certificate."""


class CoverageError(CertificationError):
    """Some number in the model is covered by no block."""


class BudgetError(CertificationError):
    """The noise does not pay for the privacy that was asked for."""


class ProximityError(CertificationError):
    """The proximity does not support what is claimed of it."""


class BufferError(CertificationError):
    """A buffer carries data and nobody said how it was cleaned."""


class ViolationError(CertificationError):
    """Repeated runs prove that the guarantee is broken."""
