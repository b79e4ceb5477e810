/** `README.md` and `requirements.txt` of the folder. */
import { accumulation, type Machines, processesOf } from './accelerate.js';
import { shellWord } from './shell-text.js';
import { noticeSeconds } from './slurm-script.js';
import type { RowKind, TokenCheck } from './trl-rows.js';
import type { TrlJob } from './trl-settings.js';

/** Releases that the exports are tested with; the next major ones may differ. */
const tested = {
  torch: '2.13',
  transformers: '5.18',
  trl: '1.13',
  peft: '0.21',
  datasets: '5.0',
  accelerate: '1.15',
} as const;

export function requirements({ strategy }: Machines): string {
  const lines = Object.entries(tested).map(([name, release]) => `${name}>=${release},<${major(release) + 1}`);
  return `${[...lines, ...(strategy === 'zero2' ? ['deepspeed'] : [])].join('\n')}\n`;
}

const major = (release: string) => Number(release.split('.')[0]);

export interface Facts {
  readonly rows: RowKind;
  /** undefined where the base model's files weren't at hand. */
  readonly tokens: TokenCheck | undefined;
  readonly examples: { readonly train: number; readonly validation: number };
  readonly seeds: number;
  readonly warnings: readonly string[];
}

export function instructions(job: TrlJob, facts: Facts): string {
  const { trainer, machines, config } = job;
  const { nodes, gpusPerNode, strategy, perDevice } = machines;
  const steps = accumulation(machines, config.batchExamples);
  const local = `bash run.sh            # this machine: ${gpusPerNode} ${gpusPerNode === 1 ? 'device' : 'devices'}`;
  return `# A training for ${processesOf(machines)} ${processesOf(machines) === 1 ? 'device' : 'devices'}, by TRL

${facts.examples.train} examples, ${facts.examples.validation} for validation; base model ${code(job.base)}; ${strategy} on ${nodes} × ${gpusPerNode}.

    pip install -r requirements.txt
    ${nodes === 1 ? `${local}\n    ` : ''}sbatch slurm.sh        # a Slurm cluster, from this folder

Then, where policyloop is installed, with this folder (or its output directory) copied back:

    policyloop finetune import ${facts.seeds > 1 ? `output/seed-${config.seed}` : '.'} --model ${shellWord(config.model)}

| file | |
| --- | --- |
| ${trainer}.yaml | all settings; ${code(`trl ${trainer} --config ${trainer}.yaml`)} runs it too, but from the start each time |
| train.py | TRL's own script, going on from the last whole checkpoint and stopping with one when asked |
| accelerate.yaml | how it is spread over devices |
| slurm.sh, run.sh | the two ways to start it; slurm.sh reads environment.sh, if you write one, for modules and the like |
| data/ | the rows |
| lineage.json, lineage/ | where they come from; copied beside the result |
| requirements.txt | tested with ${Object.entries(tested)
    .map(([name, release]) => `${name} ${release}`)
    .join(', ')} |

An update reads ${config.batchExamples} examples: ${processesOf(machines)} × ${perDevice} at once, ${steps} ${steps === 1 ? 'time' : 'times'}. To change one, change the others.

## In the queue

${noticeSeconds} s before the time limit Slurm signals slurm.sh (${code(`--signal=B:USR1@${noticeSeconds}`)}). It asks the training, by a file in the output
directory, to save and stop after the step it is in, and puts the job back into the queue; the next stretch goes on from
there. A step and a checkpoint must fit into that time. Without a new checkpoint the job fails instead of starting over
for ever. After a node's failure Slurm requeues by itself. A training that fails is not requeued.

## What is guaranteed

${guarantee(job, facts)}

## What differs from ${code('finetune train')}

${differences(job, facts)
  .map((line) => `- ${line}`)
  .join('\n')}
`;
}

function guarantee({ trainer }: TrlJob, { rows, tokens }: Facts): string {
  if (rows === 'tokens') {
    return 'The rows hold token ids: those that serving this base model reads and writes, and the loss is on the answers alone.\nTRL neither renders nor tokenises anything. With another tokenizer than the exporting one they mean nothing.';
  }
  const rendered = `TRL renders the messages by the base model's own chat template and tokenises them. The loss is on ${trainer === 'sft' ? 'the answers alone' : 'the two answers of a pair'}.`;
  if (tokens === undefined) {
    return `${rendered}\nWhether those are the tokens of serving was not checked: the base model's files were not at hand.`;
  }
  const total = tokens.same + tokens.longer + tokens.different;
  return `${rendered}
Compared with what serving reads and writes, of ${total} answers:

- ${tokens.same} give the same tokens;
- ${tokens.longer} give the same tokens, and then what the template writes behind the end of an answer (a line break, most often);
- ${tokens.different} give others.`;
}

function differences({ trainer, config }: TrlJob, { warnings }: Facts): readonly string[] {
  return [
    ...warnings,
    `Order of examples, first adapter and dropout come of the same seed, but of other generators; a bare ${code(`trl ${trainer}`)} doesn't seed the first adapter.`,
    'In the warm-up, step s has s / warmup_steps of the peak rate, from 0; ours has (s + 1) / warmupSteps.',
    'Weight decay passes over biases and norms.',
    'The result is the last step, not the one with the lowest validation loss; checkpoints keep the last two.',
    ...(config.patience === undefined ? [] : ['`patience` has no counterpart: it runs all epochs.']),
    ...(trainer === 'dpo' ? ['`beta` of DPO is 0.1: change it in dpo.yaml.'] : []),
  ];
}

const code = (text: string) => `\`${text.replaceAll('`', "'").replaceAll(/\s+/g, ' ')}\``;
