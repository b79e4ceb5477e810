/** `train.py` of the folder. */
import type { TrlTrainer } from './trl-settings.js';

/** What the Python script and the shell script tell each other by, below the output directory. */
export const marks = { stop: 'stop-requested', finished: 'finished.json' } as const;

const classes = { sft: 'SFTTrainer', dpo: 'DPOTrainer' } as const satisfies Record<TrlTrainer, string>;

/**
 * TRL's own script with what it lacks for queues: it goes on from the last whole checkpoint, and ends with one when
 * asked to. That all processes stop after the same step takes a reduction a step; a signal to each could split them.
 */
export function trainingScript(trainer: TrlTrainer): string {
  return `"""trl ${trainer}, made fit for queues: goes on from the last whole checkpoint, and stops with one when asked to.

    accelerate launch --config_file accelerate.yaml train.py --config ${trainer}.yaml

Data, loss and weights are those of "trl ${trainer} --config ${trainer}.yaml", which starts anew each time.
To ask it to stop, create the file "${marks.stop}" in its output directory.
"""

import json
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch
import trl
from transformers import TrainerCallback, set_seed

STOP, FINISHED = "${marks.stop}", "${marks.finished}"
PACKAGES = ("torch", "transformers", "peft", "trl", "datasets", "accelerate", "deepspeed")


def last_checkpoint(output):
    """The newest checkpoint whose last file was written, or None."""
    whole = [
        path
        for path in Path(output).glob("checkpoint-*")
        if path.name[len("checkpoint-") :].isdigit()
        and (path / "trainer_state.json").is_file()
        and not (path / "checkpoint-is-incomplete.txt").exists()
    ]
    newest = max(whole, key=lambda path: int(path.name[len("checkpoint-") :]), default=None)
    return None if newest is None else str(newest)


def versions():
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            pass
    return found


class StopOnRequest(TrainerCallback):
    """Saves and stops after the step in which the file appeared: the same step in all processes."""

    stopped = False

    def on_step_end(self, args, state, control, **_):
        asked = state.is_world_process_zero and (Path(args.output_dir) / STOP).exists()
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            flag = torch.tensor(int(asked), device=args.device)
            torch.distributed.all_reduce(flag, op=torch.distributed.ReduceOp.MAX)
            asked = bool(flag.item())
        if asked and state.global_step < state.max_steps:
            self.stopped = control.should_save = control.should_training_stop = True


class Resumable(trl.${classes[trainer]}):
    def train(self, *args, **kwargs):
        stop = StopOnRequest()
        self.add_callback(stop)
        checkpoint = last_checkpoint(self.args.output_dir)
        if checkpoint is not None:
            self.accelerator.print(f"going on from {checkpoint}")
        result = super().train(*args, **{"resume_from_checkpoint": checkpoint, **kwargs})
        if stop.stopped:
            self.accelerator.print(f"stopped as asked, with a checkpoint after step {self.state.global_step}")
            raise SystemExit(0)
        self.save_state()
        return result

    def save_model(self, output_dir=None, _internal_call=False):
        super().save_model(output_dir, _internal_call)
        if _internal_call or not self.is_world_process_zero():
            return
        output = Path(output_dir or self.args.output_dir)
        lineage = Path(__file__).with_name("lineage.json")
        if lineage.is_file():
            shutil.copyfile(lineage, output / "lineage.json")
        done = {"trainer": "${trainer}", "seed": self.args.seed, "steps": self.state.global_step, "versions": versions()}
        (output / FINISHED).write_text(json.dumps(done, indent=2) + "\\n")


if __name__ == "__main__":
    # TRL's script looks its trainer up when it runs.
    trl.${classes[trainer]} = Resumable
    from trl.scripts import ${trainer} as script

    parsed = script.make_parser().parse_args_and_config(fail_with_unknown_args=False)
    # TRL draws the first adapter before its trainer seeds anything.
    set_seed(parsed[1].seed)
    script.main(*parsed)
`;
}
