"""Validate JSON of other programs with a model; an invalid value is an error that names its key."""

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dumbbell.importers.log_source import Source

__all__ = ["Count", "Loose", "Real", "checked"]

MOST = 2**62

Count = Annotated[int, Field(ge=0, le=MOST)]
"""A non-negative integer."""
Real = Annotated[float, Field(ge=0, le=1e18, allow_inf_nan=False)]
"""A non-negative number."""


class Loose(BaseModel):
    """A model of the keys that we read; others are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


Model = TypeVar("Model", bound=BaseModel)


def checked(model: type[Model], value: Any, source: Source, what: str, line: int | None = None) -> Model:
    """The validated value. Raises `ImportProblem` for the first invalid key."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        source.fail(f"not valid {what}: {first['msg']}", line=line, place=place, value=first["input"])
