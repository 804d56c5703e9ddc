# A fork's own `util`.

__all__ = ["tables"]
