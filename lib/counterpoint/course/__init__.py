"""What the lessons stand on besides the library: small things with real data, each shown from its source."""

from counterpoint.course.characters import CharacterModel, descend, draw_batch, gradient_of, library_text

__all__ = ["CharacterModel", "descend", "draw_batch", "gradient_of", "library_text"]
