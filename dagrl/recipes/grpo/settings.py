"""What a GRPO job's `params` may hold: names as the field uses them, defaults that learn on one CPU thread."""

from __future__ import annotations

from typing import Annotated, Literal

from dagrl.recipes.settings import AtLeastZero, Count, Field, Params, Positive, Settings

#: What a train step needs of sampled completions, beside their rewards.
TRAINED_ON = ("tokens", "attention_mask", "response_mask", "logprobs")


class GrpoSettings(Settings):
    """Settings of the GRPO recipe. Batches are counted in completions where the name does not say prompts."""

    #: `gcd`, `spell_backward`, `products`, `chain_sum`, `reasoning_gym:NAME` or `package.module:factory`.
    task: str = "gcd"
    #: Keyword arguments of the task.
    task_params: Params = Field(default_factory=dict)
    #: Settings of a `LlamaConfig` for a model with random weights, or a local directory with a trained one.
    model: str | Params = Field(default_factory=dict)
    #: What the model is shown: `6,9=`, or the dataset's question (through the chat template if there is one).
    prompt: Literal["compact", "question"] = "compact"

    num_prompts_per_step: Count = 16
    #: Completions of each prompt, compared with each other.
    group_size: Annotated[int, Field(ge=2)] = 8
    #: Tokens; a longer prompt loses its beginning. None: no limit.
    max_prompt_length: Count | None = None
    #: Tokens, the end-of-text token among them.
    max_response_length: Count = 4

    learning_rate: Positive = 2e-3
    #: Optimizer steps until the full learning rate.
    lr_warmup_steps: Annotated[int, Field(ge=0)] = 10
    weight_decay: AtLeastZero = 0.01
    max_grad_norm: Positive = 1.0
    #: How far the policy's ratio may move from 1 before it earns nothing more.
    clip_ratio: Positive = 0.2
    entropy_coef: AtLeastZero = 0.02
    #: Weight of the divergence from the weights at the start; 0 keeps no copy of them.
    kl_coef: AtLeastZero = 0.0
    #: Divide advantages by their group's standard deviation; with small models it invites collapse.
    normalize_advantages: bool = False
    num_epochs_per_batch: Count = 1
    #: Completions per optimizer step. None: all of them in one step.
    train_mini_batch_size: Count | None = None
