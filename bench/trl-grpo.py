"""Makes an update of TRL's GRPO for each line on standard input, and prints one JSON object per update.

trl-grpo.py <task>, a JSON object as in rl-step.ts. method lora trains a PEFT adapter on all linear layers, and a GGUF file
is read by Transformers, in float32. Exits with 3 if a package is missing.
"""
import json
import os
import resource
import sys
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import pyarrow
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer
except ImportError:
    sys.exit(3)

task = json.loads(sys.argv[1])
games, size = task["games"], task["groupSize"]
later = {game[0]: game[1:] for game in games}
torch.set_num_threads(task["threads"])
source, quantized = {}, {}
directory = task["model"]
if directory.endswith(".gguf"):
    directory, source["gguf_file"] = os.path.split(directory)
    quantized["quantization_config"] = GgufConfig(dequantize=True)
tokenizer = AutoTokenizer.from_pretrained(directory, **source)
if tokenizer.pad_token is None:
    tokenizer.pad_token = tokenizer.eos_token
model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32, **source, **quantized)
adapter = None
if task["method"]["kind"] == "lora":
    from peft import LoraConfig

    adapter = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
rows = [[{"role": "user", "content": game[0]}] for game in games] * 64
seen = {}


def even(completion_ids, **_):
    return [sum(i % 2 == 0 for i in ids) / max(1, len(ids)) for ids in completion_ids]


class Asked(TrainerCallback):
    def on_step_begin(self, args, state, control, **_):
        if not sys.stdin.readline():
            os._exit(0)
        seen.update(began=time.process_time(), sampling=0.0)

    def on_step_end(self, args, state, control, **_):
        answer = {
            "seconds": time.process_time() - seen["began"],
            "samplingSeconds": seen["sampling"],
            "updateSeconds": seen["training"],
            "sampledTokens": seen["sampled"],
            "trainedTokens": seen["sampled"] + seen["prompt"],
            "peakGB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        }
        print(json.dumps(answer), file=answers, flush=True)


class Timed(GRPOTrainer):
    def _generate(self, prompts):
        """Each turn reads the whole conversation, as in TRL's loop of tool calls; the last reply is trained."""
        began = time.process_time()
        turns = [later[prompt[0]["content"]] for prompt in prompts]
        result = super()._generate(prompts)
        seen["sampled"] = sum(len(ids) for ids in result[1])
        for turn in range(len(games[0]) - 1):
            replies = tokenizer.batch_decode(result[1], skip_special_tokens=True)
            prompts = [
                [*prompt, {"role": "assistant", "content": reply}, {"role": "user", "content": messages[turn]}]
                for prompt, reply, messages in zip(prompts, replies, turns)
            ]
            result = super()._generate(prompts)
            seen["sampled"] += sum(len(ids) for ids in result[1])
        seen["sampling"] += time.process_time() - began
        seen["prompt"] = sum(len(ids) for ids in result[0])
        return result

    def training_step(self, *args, **kwargs):
        began = time.process_time()
        loss = super().training_step(*args, **kwargs)
        seen["training"] = time.process_time() - began - seen["sampling"]
        return loss


# The trainer prints to standard output, too.
answers = os.fdopen(os.dup(1), "w")
sys.stdout = sys.stderr
with tempfile.TemporaryDirectory() as folder:
    trainer = Timed(
        model=model,
        processing_class=tokenizer,
        reward_funcs=even,
        peft_config=adapter,
        args=GRPOConfig(
            output_dir=folder,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            per_device_train_batch_size=len(games) * size,
            num_generations=size,
            max_completion_length=task["completion"],
            learning_rate=1e-6,
            lr_scheduler_type="constant",
            max_steps=1_000_000,
            save_strategy="no",
            logging_steps=1_000_000,
            report_to=[],
            disable_tqdm=True,
            seed=0,
        ),
        # Pass a fingerprint, because some versions of pyarrow have classes that can't be hashed.
        train_dataset=Dataset(pyarrow.table({"prompt": rows}), fingerprint="prompts"),
        callbacks=[Asked()],
    )
    trainer.train()
