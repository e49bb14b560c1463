"""Reads a recipe's settings out of a job's `params`, so that a wrong name or value is told and not silently ignored.

A recipe declares its settings as a frozen pydantic model. Params that it does not know are left alone, because a job
may mix recipe steps with its own; but a name that is nearly a setting is taken for the typing mistake that it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dagrl.errors import UsageError, did_you_mean

__all__ = ["AtLeastZero", "Count", "Field", "Params", "Positive", "Settings", "Share", "read_settings"]

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
AtLeastZero = Annotated[float, Field(ge=0)]
#: From 0 to 1.
Share = Annotated[float, Field(ge=0, le=1)]
#: Keyword arguments for something that checks them itself.
Params = dict[str, Any]


class Settings(BaseModel):
    """Base of every recipe's settings: frozen, and strict about types."""

    model_config = ConfigDict(frozen=True, strict=True, protected_namespaces=())


Read = TypeVar("Read", bound=Settings)


def read_settings(settings: type[Read], params: Mapping[str, object]) -> Read:
    """The settings that `params` give, defaults for the rest. Raises UsageError with one line for each mistake."""
    known = settings.model_fields
    mistakes = [
        f"params.{name}: unknown{hint}" for name in params if name not in known and (hint := _near(name, known))
    ]
    try:
        read = settings.model_validate({name: value for name, value in params.items() if name in known})
    except ValidationError as error:
        mistakes += [f"params.{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
    if mistakes:
        raise UsageError("\n".join(mistakes))
    return read


#: So many letters too many or too few are still a slip; difflib alone takes `reward_model` for `model`.
SLIP = 2


def _near(name: str, known: Mapping[str, object]) -> str:
    return did_you_mean(name, [word for word in known if abs(len(word) - len(name)) <= SLIP])
