"""Language models and their tokenizers: a tiny random Llama that spells, or a trained model from a local directory.

Owns how text becomes tokens and back. Nothing is ever fetched from a network. Models stay in evaluation mode: with
dropout, the trainer would judge a completion by other probabilities than those it was sampled with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
)

from dagrl.errors import UsageError, did_you_mean
from dagrl.recipes.grpo.settings import GrpoSettings
from dagrl.recipes.tasks import alphabet_of, load_task

#: A model of 133 thousand parameters.
TINY: Mapping[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
    "initializer_range": 0.05,
    "tie_word_embeddings": False,
}


class Tokenizer(Protocol):
    """What the recipe needs of a tokenizer."""

    pad_id: int
    eos_id: int

    def encode(self, prompts: Sequence[str]) -> list[list[int]]:
        """Token ids of each prompt, ready to be continued."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a completion, without special tokens."""
        ...


class CharTokenizer:
    """One token for each character of an alphabet, after those for padding, begin and end."""

    def __init__(self, alphabet: str) -> None:
        self.pad_id, self.bos_id, self.eos_id = range(3)
        self.alphabet = alphabet
        self.ids = {character: index for index, character in enumerate(alphabet, start=3)}

    def encode(self, prompts: Sequence[str]) -> list[list[int]]:
        """Begin token and characters. Raises UsageError for a character outside the alphabet."""
        try:
            return [[self.bos_id, *(self.ids[character] for character in prompt)] for prompt in prompts]
        except KeyError as error:
            raise UsageError(f"character {error} of a prompt is not in the alphabet {self.alphabet!r}") from error

    def decode(self, ids: Sequence[int]) -> str:
        """The characters; special tokens write nothing."""
        return "".join(self.alphabet[index - 3] for index in ids if index > self.eos_id)


class TrainedTokenizer:
    """The tokenizer that stands beside a trained model, with its chat template if it has one."""

    def __init__(self, directory: str) -> None:
        self.tokenizer: Any = AutoTokenizer.from_pretrained(_existing(directory), local_files_only=True)
        self.eos_id: int = self.tokenizer.eos_token_id
        self.pad_id: int = self.eos_id if self.tokenizer.pad_token_id is None else self.tokenizer.pad_token_id

    def encode(self, prompts: Sequence[str]) -> list[list[int]]:
        """The prompts as the model was trained to read them."""
        if not self.tokenizer.chat_template:
            return [list(ids) for ids in self.tokenizer(list(prompts))["input_ids"]]
        chats = [[{"role": "user", "content": prompt}] for prompt in prompts]
        texts = self.tokenizer.apply_chat_template(chats, tokenize=False, add_generation_prompt=True)
        return [list(ids) for ids in self.tokenizer(texts, add_special_tokens=False)["input_ids"]]

    def decode(self, ids: Sequence[int]) -> str:
        """The text, special tokens left out."""
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=True)
        return text


def load_model(settings: GrpoSettings, device: str) -> PreTrainedModel:
    """The model that the settings name. Raises UsageError when there is none such."""
    if isinstance(settings.model, str):
        directory = _existing(settings.model)
        model: Any = AutoModelForCausalLM.from_pretrained(directory, local_files_only=True, dtype="float32")
    else:
        model = _new_llama(alphabet_of(load_task(settings.task, 0, settings.task_params)), settings.model)
    # A trained model brings habits of its own, such as a penalty on repetition. Completions would then come from other
    # probabilities than those they are scored by.
    make_config: Any = GenerationConfig
    model.generation_config = make_config()
    loaded: PreTrainedModel = model.to(device).eval()
    return loaded


def _new_llama(alphabet: str, config: Mapping[str, Any]) -> PreTrainedModel:
    known = vars(LlamaConfig())
    if unknown := [name for name in config if name not in known]:
        raise UsageError(f"params.model.{unknown[0]}: no setting of a LlamaConfig{did_you_mean(unknown[0], known)}")
    tokenizer = CharTokenizer(alphabet)
    fixed = {
        "vocab_size": len(alphabet) + 3,
        "pad_token_id": tokenizer.pad_id,
        "bos_token_id": tokenizer.bos_id,
        "eos_token_id": tokenizer.eos_id,
    }
    return LlamaForCausalLM(LlamaConfig(**{**TINY, **config, **fixed}))


def _existing(directory: str) -> str:
    if not Path(directory, "config.json").is_file():
        raise UsageError(f"params.model: no directory with a model at {directory!r} (it needs a config.json)")
    return directory
