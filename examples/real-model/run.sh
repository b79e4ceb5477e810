#!/bin/sh
# The full cycle. Each command resumes where it stopped, so run this script again after an interruption.
# policyloop is `npx policyloop`, or in a clone: POLICYLOOP="node dist/src/cli.js" examples/real-model/run.sh
set -e
policyloop=${POLICYLOOP:-npx policyloop}
here=$(dirname "$0")
work=$here/work

model=${MODEL:-$work/model.gguf} # or hf:ORG/NAME, ollama:NAME

if [ -z "$MODEL" ] && [ ! -e "$model" ]; then
  echo "put SmolLM2-135M-Instruct there first, or name it by MODEL, as docs/tutorials/real-model.md says: $model" >&2
  exit 2
fi
$policyloop sweep "$here/collect.yaml" environment.options.seed=1..100 --out "$work/runs"
[ -e "$work/dataset" ] ||
  $policyloop finetune dataset "$work/runs" --recipe improvement --winners 4 --validation 0.02 --out "$work/dataset"
[ -e "$work/tuned/adapter" ] || $policyloop finetune train "$here/train.yaml" "model=$model"
$policyloop finetune evaluate --tuned "$work/tuned" --configs "$here"/tasks/*.yaml \
  --baseline random hill-climb:sigma=2 --repeats "${REPEATS:-12}" --jobs 1 --out "$work/evaluation"
