"""The GRPO recipe: it learns, and what it does on the way is what it says."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from dagrl.errors import UsageError
from dagrl.recipes.grpo import RECIPE, build_actor, build_sampler
from dagrl.recipes.grpo.actor import mini_batches, new_actor, new_batch, update
from dagrl.recipes.grpo.loss import score_tokens
from dagrl.recipes.grpo.model import CharTokenizer, load_model
from dagrl.recipes.grpo.prompts import Prompts
from dagrl.recipes.grpo.settings import GrpoSettings
from dagrl.recipes.tasks import Entry, Gcd

if TYPE_CHECKING:
    from tests.recipes.conftest import Build, Rehearsal

SMALL = {"num_prompts_per_step": 4, "group_size": 4, "max_response_length": 3}
GCD = {"task": "gcd", "max_response_length": 3, "entropy_coef": 0.01}


def gain(logged: list[dict[str, float]]) -> float:
    rewards = [each["reward"] for each in logged]
    return fmean(rewards[-5:]) - fmean(rewards[:5])


def test_gcd_is_learned(rehearse: type[Rehearsal]) -> None:
    assert gain(rehearse(RECIPE, GCD, seed=7).run(25)) > 0.2


def test_gcd_is_learned_from_stale_samples(rehearse: type[Rehearsal]) -> None:
    job = rehearse(RECIPE, GCD, seed=7, max_staleness=2)
    assert gain(job.run(25)) > 0.2


def test_gcd_is_learned_in_mini_batches(rehearse: type[Rehearsal]) -> None:
    params = {**GCD, "num_epochs_per_batch": 2, "train_mini_batch_size": 32, "learning_rate": 1e-3}
    logged = rehearse(RECIPE, params, seed=7).run(12)
    assert fmean(each["reward"] for each in logged[-3:]) > logged[0]["reward"] + 0.2
    assert max(each["clip_fraction"] for each in logged) > 0


def test_a_job_comes_to_the_same_bits_twice(rehearse: type[Rehearsal]) -> None:
    jobs = [rehearse(RECIPE, {**SMALL, "train_mini_batch_size": 8}, seed=3) for _ in range(2)]
    assert jobs[0].run(3) == jobs[1].run(3)
    first, second = (job.states["actor"]["model"].state_dict() for job in jobs)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_actor_and_sampler_begin_with_equal_weights(build: type[Build], rehearse: type[Rehearsal]) -> None:
    job = rehearse(RECIPE, SMALL, seed=5)
    actor, sampler = (job.states[name]["model"].state_dict() for name in ("actor", "sampler"))
    assert all(torch.equal(actor[name], sampler[name]) for name in actor)
    assert not any(parameter.requires_grad for parameter in job.states["sampler"]["model"].parameters())
    assert set(build_sampler(build(SMALL))) == {"model", "cursor"}
    assert set(build_actor(build(SMALL))) == {"model", "optimizer", "scheduler"}


def test_samples_of_the_newest_weights_have_a_ratio_of_exactly_one(rehearse: type[Rehearsal]) -> None:
    job = rehearse(RECIPE, SMALL)
    job.run(3)
    model = load_model(GrpoSettings.model_validate(SMALL), "cpu")
    model.load_state_dict(job.versions["propagate"][2]["model"])
    batch = new_batch(
        job.artifacts["sample"] | job.artifacts["reward"], GrpoSettings.model_validate(SMALL), model.device
    )
    width = batch["response_mask"].shape[1]
    again = score_tokens(model, batch["tokens"], batch["attention_mask"], width).logprobs
    assert torch.equal(again, batch["logprobs"])


def test_a_completion_ends_with_its_first_end_token(rehearse: type[Rehearsal]) -> None:
    params = {**SMALL, "max_response_length": 8, "num_prompts_per_step": 16}
    job = rehearse(RECIPE, params)
    logged = job.run(1)
    batch = job.artifacts["sample"]
    tokenizer = CharTokenizer(Gcd.alphabet)
    lengths = batch["response_mask"].sum(axis=1).tolist()
    assert min(lengths) < max(lengths)
    assert logged[0]["response_length"] == pytest.approx(fmean(lengths))
    for tokens, length, text in zip(batch["tokens"], lengths, batch["completions"], strict=True):
        response = tokens[-batch["response_mask"].shape[1] :].tolist()
        assert tokenizer.eos_id not in response[: length - 1]
        assert length == len(response) or response[length - 1] == tokenizer.eos_id
        assert tokenizer.decode(response[:length]) == text


def test_the_cursor_moves_by_the_prompts_of_a_step(rehearse: type[Rehearsal]) -> None:
    job = rehearse(RECIPE, SMALL, seed=2)
    job.run(2)
    assert job.states["sampler"]["cursor"] == {"seed": 2, "position": 8}
    task = Gcd(2)
    assert job.artifacts["sample"]["entries"] == [task[index] for index in range(4, 8)]


def test_rewards_belong_to_their_completions(rehearse: type[Rehearsal]) -> None:
    job = rehearse(RECIPE, SMALL)
    job.run(1)
    sampled, rewards = job.artifacts["sample"], job.artifacts["reward"]["rewards"]
    entries = [entry for entry in sampled["entries"] for _ in range(4)]
    judge = Gcd(0)
    assert rewards == [judge.score_answer(*pair) for pair in zip(sampled["completions"], entries, strict=True)]


def test_no_gradient_outlives_a_train_step(rehearse: type[Rehearsal]) -> None:
    job = rehearse(RECIPE, SMALL)
    job.run(1)
    assert all(parameter.grad is None for parameter in job.states["actor"]["model"].parameters())


def test_the_learning_rate_warms_up(rehearse: type[Rehearsal]) -> None:
    job = rehearse(RECIPE, {**SMALL, "lr_warmup_steps": 4, "learning_rate": 1e-3})
    rates = []
    for _ in range(6):
        rates.append(job.states["actor"]["optimizer"].param_groups[0]["lr"])
        job.run(1)
    assert rates == pytest.approx([2.5e-4, 5e-4, 7.5e-4, 1e-3, 1e-3, 1e-3])


@pytest.mark.parametrize("warmup", [0, 1])
def test_without_a_warm_up_the_first_step_has_the_full_learning_rate(rehearse: type[Rehearsal], warmup: int) -> None:
    job = rehearse(RECIPE, {**SMALL, "lr_warmup_steps": warmup, "learning_rate": 1e-3})
    job.run(2)
    assert job.states["actor"]["optimizer"].param_groups[0]["lr"] == 1e-3


def sampled(rehearse: type[Rehearsal], params: dict[str, Any]) -> tuple[GrpoSettings, dict[str, torch.Tensor]]:
    job = rehearse(RECIPE, params)
    job.run(1)
    settings = GrpoSettings.model_validate(params)
    artifact = job.artifacts["sample"] | job.artifacts["reward"]
    return settings, new_batch(artifact, settings, torch.device("cpu"))


def test_mini_batches_hold_every_completion_once_in_each_epoch(rehearse: type[Rehearsal]) -> None:
    settings, batch = sampled(rehearse, {**SMALL, "train_mini_batch_size": 6, "num_epochs_per_batch": 2})
    batch["row"] = torch.arange(16)
    parts = [part["row"].tolist() for part in mini_batches(batch, settings)]
    assert [len(part) for part in parts] == [6, 6, 4, 6, 6, 4]
    epochs = [[row for part in half for row in part] for half in (parts[:3], parts[3:])]
    assert epochs[0] != epochs[1]
    assert [sorted(epoch) for epoch in epochs] == [list(range(16))] * 2


def test_samples_far_from_the_policy_are_clipped(rehearse: type[Rehearsal]) -> None:
    settings, batch = sampled(rehearse, {**SMALL, "entropy_coef": 0})
    batch["logprobs"] = batch["logprobs"] - 1
    batch["advantages"] = torch.ones(16)
    torch.manual_seed(0)
    numbers = update(new_actor(load_model(settings, "cpu"), settings), batch, settings)
    assert numbers["clip_fraction"] == 1
    assert numbers["grad_norm"] == 0
    assert numbers["loss"] == pytest.approx(-1.2)


def test_a_price_on_divergence_keeps_the_policy_near_its_start(rehearse: type[Rehearsal]) -> None:
    kept, free = (
        rehearse(RECIPE, {**GCD, "num_prompts_per_step": 8, "kl_coef": kl_coef}, seed=1) for kl_coef in (1.0, 1e-9)
    )
    before = {name: value.clone() for name, value in kept.states["actor"]["reference"].state_dict().items()}
    logged = kept.run(10)
    assert logged[0]["kl"] == 0
    assert 0 < logged[-1]["kl"] < free.run(10)[-1]["kl"] / 2
    after = kept.states["actor"]["reference"].state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_the_tasks_first_entry_follows_its_last() -> None:
    prompts = Prompts(GrpoSettings(task="tests.recipes.test_grpo:three_words", num_prompts_per_step=5), 0)
    assert [prompts.text(entry) for entry in prompts.entries(1)] == ["b", "c", "a", "b", "c"]


class ThreeWords:
    """A finite dataset with no metadata, as somebody else would write it."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Entry:
        return Entry(question="abc"[index], answer="x", metadata={})

    def score_answer(self, answer: str | None, entry: Entry) -> float:
        return float(answer == entry["answer"])


def three_words(seed: int) -> ThreeWords:
    del seed
    return ThreeWords()


def test_prompts_are_padded_and_cut_on_the_left() -> None:
    prompts = Prompts(GrpoSettings(max_prompt_length=4), 0)
    tokens, mask = prompts.batch(["1=", "12,9="])
    ids = prompts.tokenizer.encode(["1=", "12,9="])
    assert tokens.tolist() == [[prompts.tokenizer.pad_id, *ids[0]], ids[1][-4:]]
    assert mask.tolist() == [[0, 1, 1, 1], [1, 1, 1, 1]]


def test_a_character_that_the_model_cannot_read_is_told() -> None:
    with pytest.raises(UsageError, match="character 'W' of a prompt is not in the alphabet"):
        Prompts(GrpoSettings(prompt="question"), 0).batch(["What is 3?"])


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (
            {"hidden_sise": 32},
            r"params.model.hidden_sise: no setting of a LlamaConfig \(did you mean 'hidden_size'\?\)",
        ),
        ("/no/such/model", "params.model: no directory with a model at '/no/such/model'"),
    ],
)
def test_a_model_that_does_not_exist_is_told(build: type[Build], model: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        build_actor(build({"model": model}))


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A model and a tokenizer as people save them, with habits of its own in the generation config."""
    words = ["<pad>", "<eos>", "<unk>", *"0123456789,="]
    tokenizer = Tokenizer(WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))  # noqa: S106
    tokenizer.pre_tokenizer = Split("", "isolated")
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    wrap: Any = PreTrainedTokenizerFast
    wrap(tokenizer_object=tokenizer, **special).save_pretrained(tmp_path)
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, vocab_size=len(words)
    )
    model = LlamaForCausalLM(config)
    model.generation_config.repetition_penalty = 9.0
    model.save_pretrained(tmp_path)
    return tmp_path


def test_a_trained_model_from_a_directory_goes_on_learning(rehearse: type[Rehearsal], trained: Path) -> None:
    job = rehearse(RECIPE, {**GCD, "model": str(trained), "learning_rate": 5e-3}, seed=1)
    assert job.states["actor"]["model"].config.hidden_size == 32
    logged = job.run(25)
    assert gain(logged) > 0.1
    assert set("".join(job.artifacts["sample"]["completions"])) <= set("0123456789,= ")


def test_a_trained_models_habits_do_not_bend_what_is_sampled(rehearse: type[Rehearsal], trained: Path) -> None:
    sampled = []
    for _ in range(2):
        job = rehearse(RECIPE, {**SMALL, "model": str(trained), "num_prompts_per_step": 64})
        job.run(1)
        sampled.append(job.artifacts["sample"]["tokens"])
        (trained / "generation_config.json").unlink(missing_ok=True)
    assert np.array_equal(*sampled)


def test_a_chat_model_is_asked_through_its_template(trained: Path) -> None:
    config = trained / "tokenizer_config.json"
    template = (
        "{% for message in messages %}9{{ message.content }}{% endfor %}{% if add_generation_prompt %}0{% endif %}"
    )
    config.write_text(config.read_text().replace("{", f'{{"chat_template": "{template}",', 1))
    prompts = Prompts(GrpoSettings(model=str(trained)), 0)
    (ids,) = prompts.tokenizer.encode(["3,4="])
    assert prompts.tokenizer.decode(ids).replace(" ", "") == "93,4=0"
