"""What a sampler is asked: a task's entries, rendered and tokenized into left-padded batches.

Owns what is made from the settings and is no state, hence never saved: dataset and tokenizer. They are made once per
process and job. Which entries come next is the sampler's state, and stands in its context.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from dagrl.recipes.grpo.model import CharTokenizer, Tokenizer, TrainedTokenizer
from dagrl.recipes.grpo.settings import GrpoSettings
from dagrl.recipes.tasks import Dataset, Entry, alphabet_of, compact_prompt, load_task


class Prompts:
    """A task together with the tokenizer for it."""

    def __init__(self, settings: GrpoSettings, seed: int) -> None:
        self.settings = settings
        self.dataset: Dataset = load_task(settings.task, seed, settings.task_params)
        self.tokenizer: Tokenizer = (
            TrainedTokenizer(settings.model)
            if isinstance(settings.model, str)
            else CharTokenizer(alphabet_of(self.dataset))
        )

    def entries(self, start: int) -> list[Entry]:
        """The entries of one step, from index `start` on; the first follows the last."""
        size = len(self.dataset)
        return [self.dataset[(start + offset) % size] for offset in range(self.settings.num_prompts_per_step)]

    def text(self, entry: Entry) -> str:
        """What the model is shown of an entry."""
        compact = self.settings.prompt == "compact"
        return compact_prompt(self.settings.task, entry) if compact else entry["question"]

    def batch(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Token ids and attention mask, padded on the left: all completions begin at the same position."""
        limit = self.settings.max_prompt_length or 0
        rows = [ids[-limit:] for ids in self.tokenizer.encode(texts)]
        width = max(map(len, rows))
        tokens = [[self.tokenizer.pad_id] * (width - len(ids)) + ids for ids in rows]
        mask = [[0] * (width - len(ids)) + [1] * len(ids) for ids in rows]
        return torch.tensor(tokens), torch.tensor(mask)


@lru_cache(maxsize=16)
def _cached(settings_json: str, seed: int) -> Prompts:
    return Prompts(GrpoSettings.model_validate_json(settings_json), seed)


def prompts_for(settings: GrpoSettings, seed: int) -> Prompts:
    """The prompts of a job, made once per process."""
    return _cached(settings.model_dump_json(), seed)
