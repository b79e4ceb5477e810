"""
TRL's own trainer plays the environments of the class in cooking.py, of the current directory. A tiny model is trained; its
answers come from a script: the tool calls of a game that is won, then a word.
"""

import json
import os
import sys

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(os.getcwd(), "inductor")
sys.path.insert(0, os.getcwd())

import torch
import trl
from cooking import Cooking, score
from datasets import Dataset
from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

task = json.load(sys.stdin)
games = task["games"]

tokenizer = AutoTokenizer.from_pretrained(task["tokenizer"])
with open(os.path.join(os.path.dirname(trl.__file__), "chat_templates", "qwen3.jinja")) as template:
    tokenizer.chat_template = template.read()
torch.set_num_threads(1)
model = Qwen3ForCausalLM(
    Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=65536,
        eos_token_id=tokenizer.convert_tokens_to_ids("<|im_end|>"),
        pad_token_id=0,
    )
)

scores = []


def scored(environments, seed, **columns):
    rewards = score(environments, **columns)
    scores.extend(zip(seed, rewards, [environment.done for environment in environments]))
    return rewards


prompt = [{"role": "user", "content": "Play the game with the tool `act` until it is over."}]
trainer = trl.GRPOTrainer(
    model=model,
    processing_class=tokenizer,
    train_dataset=Dataset.from_list([{"prompt": prompt, "seed": game["seed"]} for game in games]),
    reward_funcs=scored,
    args=trl.GRPOConfig(
        output_dir="out",
        max_completion_length=32768,
        num_generations=2,
        per_device_train_batch_size=2 * len(games),
        max_steps=task["steps"],
        report_to=[],
        use_cpu=True,
        save_strategy="no",
    ),
    environment_factory=Cooking,
)

heard = {}


def answers(prompt_ids, *_, **__):
    completions = []
    for ids in prompt_ids:
        text = tokenizer.decode(ids)
        game = next(game for game in games if game["texts"][0] in text)
        said = text[text.index(game["texts"][0]) :]
        turn = said.count("<tool_call>")
        heard[game["seed"]] = said
        action = game["actions"][turn : turn + 1]
        call = json.dumps({"name": "act", "arguments": {"command": action[0]}}) if action else ""
        answer = f"<tool_call>\n{call}\n</tool_call><|im_end|>" if action else "won<|im_end|>"
        completions.append(tokenizer(answer, add_special_tokens=False)["input_ids"])
    return completions, None


trainer._generate_single_turn = answers
trainer.train()
missing = [text for game in games for text in game["texts"] if text.strip() not in heard[game["seed"]]]
print(json.dumps({"scores": scores, "missing": missing}))
