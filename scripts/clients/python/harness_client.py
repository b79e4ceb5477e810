"""lm-evaluation-harness: the same model through policyloop and through the harness's own Transformers backend."""
import json
import os
import pathlib
import sys
import tempfile

os.environ.update({"HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "none", "TOKENIZERS_PARALLELISM": "false"})
import lm_eval
from lm_eval.tasks import TaskManager

from checks import check, client, model, url

client("lm-eval")
directory = sys.argv[3]
questions = [
    ("The capital of France is", ["Paris", "a kind of bread", "the moon"], 0),
    ("Two plus two equals", ["seventeen", "four", "a river in Spain"], 1),
    ("Water freezes at zero degrees", ["Celsius", "of guitars", "yesterday evening"], 0),
    ("The sun rises in the", ["refrigerator", "west", "east"], 2),
    ("A triangle has three", ["sides", "presidents", "purple"], 0),
    ("Cats say", ["hello", "meow", "E = mc²"], 1),
]
made = tempfile.TemporaryDirectory()
folder = pathlib.Path(made.name)
data = folder / "questions.json"
data.write_text(json.dumps([{"question": q, "choices": c, "answer": a} for q, c, a in questions]))
shared = {
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": str(data)}},
    "test_split": "test",
    "doc_to_text": "{{question}}",
}
choices = {
    "output_type": "multiple_choice",
    "doc_to_choice": "choices",
    "doc_to_target": "answer",
    "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}],
}
written = {
    "output_type": "generate_until",
    "doc_to_target": "{{choices[answer]}}",
    "generation_kwargs": {"until": ["\n"], "max_gen_toks": 16, "do_sample": False, "temperature": 0},
    "metric_list": [{"metric": "exact_match"}],
}
for name, task in [("choices", choices), ("written", written)]:
    (folder / f"{name}.yaml").write_text(json.dumps({"task": f"local_{name}", **shared, **task}))


def replies(backend, arguments):
    results = lm_eval.simple_evaluate(
        model=backend, model_args=arguments, tasks=["local_choices", "local_written"], batch_size=4,
        task_manager=TaskManager(include_path=str(folder)), bootstrap_iters=0, device="cpu",
    )
    return {name: [one["filtered_resps"] for one in samples] for name, samples in results["samples"].items()}


own = replies("hf", {"pretrained": directory, "dtype": "float32"})
served = replies(
    "local-completions",
    {"model": model, "base_url": f"{url}/completions", "tokenizer": directory, "tokenized_requests": True},
)


@check("log-likelihoods within 1e-3")
def _():
    pairs = [pair for a, b in zip(own["local_choices"], served["local_choices"]) for pair in zip(a, b)]
    assert len(pairs) == 18 and all(a[1] == b[1] for a, b in pairs)
    difference = max(abs(float(a[0]) - float(b[0])) for a, b in pairs)
    print(f"largest difference: {difference:.1e}", file=sys.stderr)
    assert difference < 1e-3, difference


@check("generation, text for text")
def _():
    assert own["local_written"] == served["local_written"], (own, served)


@check("chat")
def _():
    results = lm_eval.simple_evaluate(
        model="local-chat-completions", model_args={"model": model, "base_url": f"{url}/chat/completions"},
        tasks=["local_written"], task_manager=TaskManager(include_path=str(folder)), apply_chat_template=True, limit=2,
    )
    assert all(one["filtered_resps"][0] for one in results["samples"]["local_written"])
