#!/bin/sh
# The whole circle. Each command goes on where it stopped, so start this again after an interruption.
# policyloop is `npx policyloop`, or in a clone: POLICYLOOP="node dist/src/cli.js" examples/real-model/run.sh
set -e
policyloop=${POLICYLOOP:-npx policyloop}
here=$(dirname "$0")
work=$here/work

if [ ! -e "$work/model.gguf" ]; then
  echo "put SmolLM2-135M-Instruct there first, as docs/real-model.md says: $work/model.gguf" >&2
  exit 2
fi
$policyloop finetune collect "$here/collect.yaml"
[ -e "$work/dataset" ] ||
  $policyloop finetune dataset "$work/runs" --recipe best-of-group --winners 4 --validation 0.02 --out "$work/dataset"
[ -e "$work/tuned/adapter" ] || $policyloop finetune train "$here/train.yaml"
$policyloop finetune evaluate --tuned "$work/tuned" --configs "$here"/tasks/*.yaml \
  --control random hill-climb:sigma=2 --repeats "${REPEATS:-12}" --jobs 1 --out "$work/evaluation"
