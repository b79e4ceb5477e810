"""Unpacks a GGUF file to a float32 model directory of Hugging Face: convert.py FILE.gguf DIRECTORY"""
import os
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

gguf, directory = sys.argv[1:]
folder, file = os.path.split(gguf)
packed = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32)
config = AutoConfig.from_pretrained(folder, gguf_file=file)
model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
model.load_state_dict(packed.state_dict())
model.save_pretrained(directory)
AutoTokenizer.from_pretrained(folder, gguf_file=file).save_pretrained(directory)
