"""Stimuli for compiled schedulers: starts beside the running one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schedproof.candidates.deploy.scheduler_config import ill_typed, incomplete, misspelled
from schedproof.stimulus.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["PluginCase"]


class PluginCase(Case):
    """A case whose candidate is a compiled scheduler."""

    def try_ill_typed_args(self) -> None:
        """Start it once for each of its args, with a value of another type in its place."""
        self._try(ill_typed)

    def try_unknown_args(self) -> None:
        """Start it once for each of its plugins that has args, with one arg more."""
        self._try(misspelled)

    def try_left_out_args(self) -> None:
        """Start it once without each of its args, and once for each of its plugins without its pluginConfig."""
        self._try(incomplete)

    def _try(self, changed: Callable[[Mapping[str, Any]], list[tuple[str, Any, dict[str, Any]]]]) -> None:
        attachment = self.trial.attachment
        if attachment.configuration is None or attachment.start_error is not None:
            return
        wrong = changed(attachment.configuration)
        ends = attachment.try_configurations([document for _, _, document in wrong])
        for (arg, value, _), (code, log) in zip(wrong, ends, strict=True):
            self._recorder.add("tried", case=self.clause, arg=arg, value=value, code=code, log=log)

    def try_profiles(self) -> None:
        """A pod for each of its profiles, where it has several."""
        attachment = self.trial.attachment
        if attachment.start_error is None and len(attachment.scheduler_names) > 1:
            self.expect_bound([self.pod(scheduler_name=name) for name in attachment.scheduler_names])
