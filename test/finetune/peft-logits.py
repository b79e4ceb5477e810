"""Logits after the last token, as PEFT computes them with an adapter and Transformers with a merged model, in float32."""

import json
import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

model, adapter, merged, ids = sys.argv[1:]
tokens = torch.tensor([json.loads(ids)])


def last_logits(network):
    with torch.no_grad():
        return network.eval()(tokens).logits[0, -1].tolist()


base = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
print(
    json.dumps(
        {
            "adapter": last_logits(PeftModel.from_pretrained(base, adapter)),
            "merged": last_logits(AutoModelForCausalLM.from_pretrained(merged, dtype=torch.float32)),
        }
    )
)
