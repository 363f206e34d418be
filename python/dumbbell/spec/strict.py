"""What every table of a sweep file is: frozen, and without a key that nobody reads."""

from pydantic import BaseModel, ConfigDict

__all__ = ["Strict"]


class Strict(BaseModel):
    """Frozen, and no key that nobody reads."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)
