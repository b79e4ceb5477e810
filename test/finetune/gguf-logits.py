"""What Python makes of GGUF files: Transformers' logits after the last token, token ids of a text and chat template;
and whether every tensor is what the format's own library makes of the same weights in another file."""

import json
import sys
from pathlib import Path

import numpy
import torch
from gguf import GGUFReader
from gguf.quants import quantize
from transformers import AutoModelForCausalLM, AutoTokenizer


def described(tensor, exact):
    own = {"type": tensor.tensor_type.name, "shape": [int(size) for size in reversed(tensor.shape)]}
    if exact is not None:
        made = quantize(exact[tensor.name], tensor.tensor_type)
        own["equal"] = bool(numpy.array_equal(made.view(numpy.uint8), tensor.data.view(numpy.uint8)))
    return own


results = []
for request in json.loads(sys.argv[1]):
    path = Path(request["file"])
    exact = {one.name: one.data for one in GGUFReader(request["exact"]).tensors} if "exact" in request else None
    result = {"tensors": {tensor.name: described(tensor, exact) for tensor in GGUFReader(path).tensors}}
    if request["logits"]:
        model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        with torch.no_grad():
            logits = model.eval()(torch.tensor([request["ids"]])).logits[0, -1]
        result["logits"] = logits.tolist()
        result["ids"] = tokenizer.encode(request["text"], add_special_tokens=False)
        result["template"] = tokenizer.chat_template
    results.append(result)
print(json.dumps(results))
