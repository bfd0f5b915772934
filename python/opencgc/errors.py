# SPDX-License-Identifier: Apache-2.0
"""The exceptions of every package of the project: Error and one subclass per status of the C library.

An error says what is wrong and carries, each as an attribute and in the text: the layer (module path), the
operator, the setting at fault, what was found, what was wanted and the cure. Errors from C arrive with their
text made; errors raised in Python get the same text from compose().
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where an error is and how to mend it; "" for what does not apply."""

    layer: str = ""
    op: str = ""
    setting: str = ""
    found: str = ""
    wanted: str = ""
    cure: str = ""


def compose(what: str, place: Place, error_id: str) -> str:
    """Return the text of an error: one line, and the cure on a second one."""
    where = f"layer '{place.layer}'" if place.layer else place.op
    where += f" ({place.op})" if place.layer and place.op else ""
    line = f"error[{error_id}] {where}{': ' if where else ''}{what}"
    if place.found:
        line += f"; found {place.found}"
    if place.wanted:
        line += f"{',' if place.found else ';'} wanted {place.wanted}"
    return f"{line}\n  cure: {place.cure}" if place.cure else line


class Error(Exception):
    """What went wrong, where, and the cure.

    what is the sentence without place and cure: the whole text is made here. id is stable ("E_TYPE").
    """

    default_id = "E_ARGUMENT"

    def __init__(  # noqa: PLR0913 - the fields of an error, all keyword
        self,
        what: str,
        *,
        layer: str = "",
        op: str = "",
        setting: str = "",
        found: object = "",
        wanted: object = "",
        cure: str = "",
        id: str = "",  # noqa: A002 - the documented name of the field
    ) -> None:
        self.place = Place(layer, op, setting, str(found), str(wanted), cure)
        self.id = id or self.default_id
        self.message = compose(what, self.place, self.id)
        super().__init__(self.message)

    @classmethod
    def from_text(cls, message: str, place: Place, error_id: str) -> Error:
        """Make an error whose text is already whole (it comes from C)."""
        error = cls(message)
        error.place, error.id, error.message = place, error_id, message
        error.args = (message,)
        return error

    @property
    def layer(self) -> str:
        """Module path of the user's layer."""
        return self.place.layer

    @property
    def op(self) -> str:
        """Operator name."""
        return self.place.op

    @property
    def setting(self) -> str:
        """The setting or attribute at fault."""
        return self.place.setting

    @property
    def found(self) -> str:
        """What was found."""
        return self.place.found

    @property
    def wanted(self) -> str:
        """What was wanted."""
        return self.place.wanted

    @property
    def cure(self) -> str:
        """What to do about it."""
        return self.place.cure


class OutOfMemoryError(Error, MemoryError):
    """Memory ran out."""

    default_id = "E_NOMEM"


class InternalError(Error):
    """A fault of the compiler itself."""

    default_id = "E_INTERNAL"


class ArgumentError(Error, ValueError):
    """An argument of a call is unusable."""

    default_id = "E_ARGUMENT"


class FileError(Error):
    """A file cannot be read or written."""

    default_id = "E_FILE"


class FormatError(Error, ValueError):
    """A file or text is malformed."""

    default_id = "E_FORMAT"


class LimitError(Error):
    """A size or depth limit is exceeded."""

    default_id = "E_LIMIT"


class OperatorError(Error):
    """An operator is unknown or has no converter."""

    default_id = "E_OP"


class AttributeValueError(Error, ValueError):
    """An operator's attribute is unknown, missing or out of range."""

    default_id = "E_ATTR"


class TensorTypeError(Error, TypeError):
    """A shape or element type does not fit."""

    default_id = "E_TYPE"


class QuantizationError(Error):
    """A quantization parameter or state is unusable."""

    default_id = "E_QUANT"


class AccumulatorError(Error):
    """An int32 accumulator could overflow."""

    default_id = "E_OVERFLOW"


class TargetError(Error):
    """There is no target, or a hardware value is unusable."""

    default_id = "E_TARGET"


class FitError(Error):
    """A layer does not fit the memory of the target."""

    default_id = "E_FIT"


class ModuleNameError(Error, ValueError):
    """A module name is unusable."""

    default_id = "E_NAME"


class StrictError(Error):
    """Strict mode refuses what would otherwise be a note."""

    default_id = "E_STRICT"


class BuildError(Error):
    """The C compiler failed or was not found."""

    default_id = "E_BUILD"


class FaultError(Error):
    """The simulated program faulted."""

    default_id = "E_FAULT"


class DifferError(Error):
    """Engines gave different bytes."""

    default_id = "E_DIFFER"


# Status id -> class; a status without a class of its own (there is none, see the test) is an Error.
BY_ID: dict[str, type[Error]] = {cls.default_id: cls for cls in Error.__subclasses__()}
