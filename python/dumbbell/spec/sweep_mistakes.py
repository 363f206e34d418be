"""A mistake that pydantic finds in a sweep file, as an error that names the key."""

from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from dumbbell.errors import ExperimentError
from dumbbell.spec.qdisc import suggest
from dumbbell.spec.sweep_keys import Keys
from dumbbell.spec.units import Wrong

__all__ = ["explained"]


def explained(error: ValidationError, file: str) -> ExperimentError:
    """The first mistake of a sweep file."""
    first = error.errors()[0]
    location = tuple(part for part in first["loc"] if part != "function-before")
    key = ".".join(str(part) for part in location)
    value = first["input"]
    match first["type"]:
        case "extra_forbidden":
            known = _by_key(_model_at(location[:-1]))
            right = suggest(str(location[-1]), known)
            return ExperimentError(f"unknown key '{location[-1]}'", file=file, key=key, right=right)
        case "missing":
            right = 'such as experiment = "cyclic", a file of yours, or a table [experiment]'
            return ExperimentError(
                "this key is missing", file=file, key=key, right=right if key == "experiment" else ""
            )
        case "value_error" if isinstance(wrong := first["ctx"]["error"], Wrong):
            shown = None if isinstance(value, dict) else value
            return ExperimentError(wrong.problem, file=file, key=key, value=shown, right=wrong.right)
        case "bool_type" | "bool_parsing":
            return ExperimentError("not a boolean", file=file, key=key, value=value, right="write true or false")
        case _:
            shown = None if isinstance(value, dict) else value
            return ExperimentError(first["msg"][:1].lower() + first["msg"][1:], file=file, key=key, value=shown)


def _model_at(location: Sequence[str | int]) -> type[BaseModel]:
    """The model of the table at this location."""
    model: type[BaseModel] = Keys
    for part in location:
        if isinstance(part, str) and part in (fields := _by_key(model)):
            model = _models_in(fields[part].annotation)[0]
    return model


def _by_key(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields by their key in a file: the alias where a field has one."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]
