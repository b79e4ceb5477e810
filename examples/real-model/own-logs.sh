#!/bin/sh
# From your own logs to a better model (docs/results/own-logs.md): the runs of a model and of two baselines on three tasks train
# the model, which is then evaluated on two other tasks. Each command resumes where it stopped.
# Arguments are settings of the training; for Qwen2.5-Coder-0.5B: own-logs.sh method.compute=int8 learningRate=5e-4
set -e
policyloop=${POLICYLOOP:-npx policyloop}
here=$(dirname "$0")
work=$here/work

for task in tasks/pendulum more-tasks/acrobot more-tasks/mountaincar-continuous; do
  $policyloop sweep "$here/$task.yaml" model.provider=local,hill-climb,gp seed=1..4 --out "$work/own-logs/$(basename $task)"
done
[ -e "$work/own-dataset" ] ||
  $policyloop finetune dataset "$work/own-logs/*" --recipe weighted --validation none --out "$work/own-dataset"
[ -e "$work/own-tuned/adapter" ] ||
  $policyloop finetune train "$here/train.yaml" "dataset=$work/own-dataset" "output=$work/own-tuned" "$@"
$policyloop finetune evaluate --tuned "$work/own-tuned" --configs "$here/tasks/cartpole.yaml" \
  "$here/tasks/inverted-pendulum.yaml" --baseline gp --repeats 10 --seed 100 --jobs 1 --out "$work/own-evaluation"
