"""How a reduction over windows is tiled: the parameters of its family of plans."""

from __future__ import annotations

from collections.abc import Sequence

from ...frozen import frozen


@frozen
class WindowsPlan:
    """
    Rows of vectors of the result in registers, for which the window is gone through column by column.

        for the other axes of the result:
          image' = image with its border            # where reads leave the image: a plane, or
          for rows (tiles), lanes (tiles):          # for each tile of rows a strip of it
            acc[rows, lanes] = identity             # in registers
            for columns of the window:
              for rows, the rest of the window:     # written out: rows share what they read of a column
                acc[row] = combine(acc[row], image'[row * s + kh, lanes * s + kw] (* filter[kh, kw]))
            result = finished(acc)                  # from the registers

    With one column at a time, a row of the image and the column of the filter are in registers while all rows that
    they belong to use them. (Zhang, Lo and Lu, "High Performance Depthwise and Pointwise Convolutions on Mobile
    Devices", AAAI 2020, tile rows for the same reason.) Where lanes take every other element of the image, a row has all
    of its columns at once, out of vectors that they share, and is finished before the next one begins.
    """

    lanes: tuple[int, int]
    """the axis of the result in vector lanes, and how many elements of it a tile has"""
    rows: tuple[int, int] | None
    """the axis of a tile's rows, and how many it has; None for one row"""
    outer: tuple[int, ...]
    """axes of the window whose terms are loops, outermost first"""
    columns: tuple[int, ...]
    """axes of the window that are written out around the rows"""
    inner: tuple[int, ...]
    """axes of the window that are written out inside of each row"""
    halo: bool
    """the image is copied with its border"""
    strips: bool = False
    """the copy is of what a tile's rows read, which stays in L1 where a plane would not"""
    masked: bool = False
    """
    the image is read as it is, by loads of the lanes that are inside of it; the first and the last tile along each axis stand by
    themselves, so that the others need no masks
    """

    skips: tuple[tuple[int, int], ...] = ()
    """
    axes of the window whose terms outside of the image are left out, each with the axis of the result beside it: by shorter loops,
    and along the tile's rows by shorter tiles for each element of the window, where this is not inside of each row
    """

    @property
    def tile(self) -> tuple[tuple[int, int], ...]:
        """The axes that are cut into tiles, with their sizes: rows, and lanes."""
        return (self.lanes,) if self.rows is None else (self.rows, self.lanes)

    def order(self, parallel: Sequence[int]) -> list[int]:
        """Of the axes of the result those of the loops over tiles, outermost first."""
        cut = dict(self.tile)
        return [*(axis for axis in parallel if axis not in cut), *cut]

    def is_skip_written_out(self, axis: int) -> bool:
        """Whether terms along an axis of the window are left out by shorter tiles."""
        return (
            axis not in self.inner
            and self.rows is not None
            and dict(self.skips).get(axis) == self.rows[0]
            and self.rows[1] > 1
        )

    def __str__(self) -> str:
        tile = f"{1 if self.rows is None else self.rows[1]}x{self.lanes[1]}"
        words = [f"tile {tile} of the result"]
        written = ", ".join(str(axis) for axis in (*self.columns, *self.inner))
        words += [f"axes {written} of the window written out"] if written else []
        copied = "strips of the image with their" if self.strips else "the image with its"
        words += [f"copies {copied} border"] if self.halo else []
        along = ", ".join(str(axis) for axis, _ in self.skips)
        words += [f"leaves out terms outside of it along axes {along}"] if along else []
        words += ["masks lanes outside of the image"] if self.masked else []
        return ", ".join(words)
