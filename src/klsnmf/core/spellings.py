"""Values of parameters that were once spelled differently. The old spellings still work."""

from __future__ import annotations

from typing import Any

from .warn import warn

#: For each parameter, the old spellings of its values and the current ones.
RENAMED = {"diffusion": {"unweighed": "unweighted"}}


def spelled_now(name: str, value: Any) -> Any:
    """The value of a parameter in the current spelling."""
    return RENAMED.get(name, {}).get(value, value) if isinstance(value, str) else value


def warn_of_old_spellings(estimator: Any) -> None:
    """Warn about parameters of an estimator that should be spelled differently."""
    for name in RENAMED:
        given = getattr(estimator, name, None)
        if (now := spelled_now(name, given)) is not given:
            warn(
                f'{name}="{given}" is now spelled {name}="{now}". The old spelling still gives '
                f'the same result, but a later version will refuse it: write {name}="{now}".',
                FutureWarning,
            )
