"""The folder of a data set: on this machine, or wherever fsspec reaches."""

from __future__ import annotations

import importlib
import os
import uuid
from typing import Any, Protocol

from .errors import OutputError, UnsupportedError

__all__ = ["Store", "absolute", "store_of"]


class Store(Protocol):
    """Files in folders. A file is there as a whole or not at all."""

    def names(self, folder: str) -> set[str]:
        """Names of the files in a folder."""
        ...

    def read(self, path: str) -> bytes | None:
        """Content of a file; ``None``: there is none."""
        ...

    def write(self, path: str, content: bytes) -> None:
        """Writes a file, in place of one of that name."""
        ...


class _Local:
    def __init__(self, root: str) -> None:
        self._root = root

    def names(self, folder: str) -> set[str]:
        try:
            return set(os.listdir(os.path.join(self._root, folder)))
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise OutputError(f"the data set cannot be read: {error}", "name another folder") from None

    def read(self, path: str) -> bytes | None:
        try:
            with open(os.path.join(self._root, path), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise OutputError(f"the data set cannot be read: {error}", "name another folder") from None

    def write(self, path: str, content: bytes) -> None:
        whole = os.path.join(self._root, path)
        # beside the tables, so that who scans one does not see it
        part = os.path.join(self._root, f".{uuid.uuid4().hex}.tmp")
        try:
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            with open(part, "wb") as file:
                file.write(content)
                file.flush()
                # or the file might be there after a crash of the machine, and empty
                os.fsync(file.fileno())
            os.replace(part, whole)
        except OSError as error:
            remedy = "make room there, or name another folder"
            raise OutputError(f"the data set cannot be written: {error}", remedy) from None
        finally:
            if os.path.exists(part):
                os.unlink(part)


class _Remote:
    """Object stores show an object when it is complete."""

    def __init__(self, url: str) -> None:
        try:
            fsspec: Any = importlib.import_module("fsspec")
        except ImportError:
            raise UnsupportedError(f"{url} needs fsspec", "pip install fsspec, and what its protocol needs") from None
        try:
            self._files: Any
            self._root: str
            self._files, self._root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise UnsupportedError(f"{url}: {error}", "install what this protocol needs, or name a folder") from None

    def names(self, folder: str) -> set[str]:
        self._files.invalidate_cache()
        try:
            found = self._files.ls(f"{self._root}/{folder}", detail=False)
        except FileNotFoundError:
            return set()
        return {str(path).rstrip("/").rsplit("/", 1)[-1] for path in found}

    def read(self, path: str) -> bytes | None:
        try:
            return bytes(self._files.cat_file(f"{self._root}/{path}"))
        except FileNotFoundError:
            return None

    def write(self, path: str, content: bytes) -> None:
        whole = f"{self._root}/{path}"
        try:
            self._files.makedirs(whole.rsplit("/", 1)[0], exist_ok=True)
            self._files.pipe_file(whole, content)
        except OSError as error:
            raise OutputError(f"the data set cannot be written: {error}", "check that you may write there") from None


def absolute(out: str | os.PathLike[str]) -> str:
    """A path that means the same in another working directory, or a URL."""
    path = os.fspath(out)
    if path.startswith("file://"):
        path = path[len("file://") :]
    return path.rstrip("/") if "://" in path else os.path.abspath(path)


def store_of(out: str | os.PathLike[str]) -> Store:
    """The store that a path or URL names."""
    path = absolute(out)
    return _Remote(path) if "://" in path else _Local(path)
