"""Takes a training step of PyTorch + PEFT for each line on standard input, and prints one JSON object per step.

torch-lora.py <config.json> <dtype: float32 | bfloat16> <threads> <tokens> <completion tokens>
Exits with 3 if torch, transformers or peft is missing.
"""
import json
import resource
import sys
import time

try:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import Qwen2Config, Qwen2ForCausalLM
except ImportError:
    sys.exit(3)

file, dtype, threads, tokens, completion = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
torch.set_num_threads(threads)
torch.manual_seed(0)
with open(file) as opened:
    config = Qwen2Config(**json.load(opened))
model = get_peft_model(
    Qwen2ForCausalLM(config).float(),
    LoraConfig(
        r=8, lora_alpha=16, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], task_type="CAUSAL_LM"
    ),
)
decoder = model.base_model.model
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
ids = torch.randint(0, config.vocab_size, (1, tokens))
targets = torch.randint(0, config.vocab_size, (completion,))


def step():
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == "bfloat16"):
        # Apply the head to the answer's tokens only, as our step does.
        hidden = decoder.model(input_ids=ids, use_cache=False).last_hidden_state[0, tokens - completion :]
        logits = decoder.lm_head(hidden)
    loss = torch.nn.functional.cross_entropy(logits.float(), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in sys.stdin:
    wall, processor = time.perf_counter(), time.process_time()
    step()
    answer = {
        "seconds": time.perf_counter() - wall,
        "processorSeconds": time.process_time() - processor,
        "peakBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    print(json.dumps(answer), flush=True)
