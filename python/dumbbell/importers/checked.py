"""JSON of other programs, checked by a model; a value that doesn't fit is an error with its place in the file."""

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dumbbell.importers.source import Source

__all__ = ["Count", "Loose", "Real", "checked"]

MOST = 2**62

Count = Annotated[int, Field(ge=0, le=MOST)]
"""A whole number that isn't negative."""
Real = Annotated[float, Field(ge=0, le=1e18, allow_inf_nan=False)]
"""A number that isn't negative."""


class Loose(BaseModel):
    """A model of what we read; what else stands there is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)


Model = TypeVar("Model", bound=BaseModel)


def checked(model: type[Model], value: Any, source: Source, what: str, line: int | None = None) -> Model:
    """The value as the model. Raises `ImportProblem` naming the first place that is wrong."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        source.fail(f"not as {what} has it: {first['msg']}", line=line, place=place, value=first["input"])
