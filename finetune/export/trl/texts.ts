/** The files of a TRL export besides the rows: the training script and the Slurm job. */
import type { TrlSettings } from './settings.js';

/** A script that trains on `data/`. Running it again resumes from the last checkpoint in `output/`. */
export function trainingScript(
  trainer: 'sft' | 'dpo',
  model: string,
  { batchExamples, lora, training }: TrlSettings,
): string {
  const name = trainer.toUpperCase();
  return `"""Trains a model with TRL on data/. Running it again resumes from the last checkpoint in output/.

Install: pip install "trl>=1.13,<2" "peft>=0.21,<1"
Run:     accelerate launch train.py
"""

import os
from pathlib import Path

from datasets import load_dataset
${lora ? 'from peft import LoraConfig\n' : ''}from transformers import set_seed
from transformers.trainer_utils import get_last_checkpoint
from trl import ${name}Config, ${name}Trainer

MODEL = os.environ.get("MODEL", ${pythonLiteral(model)})
BATCH = ${batchExamples}  # examples per update, over all devices

devices = int(os.environ.get("WORLD_SIZE", "1"))
if BATCH % devices:
    raise SystemExit(f"{BATCH} examples per update can't be divided among {devices} devices")
config = ${name}Config(
${keywordArguments(training)}    gradient_accumulation_steps=BATCH // devices,
)
${lora ? `adapter = LoraConfig(\n${keywordArguments(lora)})\n` : ''}set_seed(config.seed)  # before the trainer creates the adapter
rows = load_dataset("json", data_files={path.stem: str(path) for path in Path("data").glob("*.jsonl")})
trainer = ${name}Trainer(
    model=MODEL,
    args=config,
    train_dataset=rows["train"],
    eval_dataset=rows.get("validation"),
${lora ? '    peft_config=adapter,\n' : ''})
done = get_last_checkpoint("output") if Path("output").is_dir() else None
trainer.train(resume_from_checkpoint=done)
trainer.save_model("output")
`;
}

const keywordArguments = (values: Readonly<Record<string, unknown>>) =>
  Object.entries(values)
    .map(([key, value]) => `    ${key}=${pythonLiteral(value)},\n`)
    .join('');

/** Formats a value as a Python literal. JSON strings and numbers are valid Python. */
function pythonLiteral(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const entries = Object.entries(value as object).map(([key, inner]) => `"${key}": ${pythonLiteral(inner)}`);
  return `{${entries.join(', ')}}`;
}

/** A Slurm job for one machine. Submitting it again after the time limit resumes the training. */
export const jobScript = `#!/bin/bash
# Submit from this folder: sbatch job.sh
# After the time limit or a failure, submit it again: it resumes from the last checkpoint.
#SBATCH --job-name=train
#SBATCH --nodes=1
#SBATCH --gpus-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=4:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=train-%j.log
set -euo pipefail
cd -- "\${SLURM_SUBMIT_DIR:-.}"
# Load what this cluster needs here, e.g. a module or a virtual environment.
exec accelerate launch --num_processes "\${SLURM_GPUS_ON_NODE:-1}" train.py
`;
