/** `README.md` and `requirements.txt` of an exported folder. */
import { accumulation, type Machines, processesOf } from './accelerate.js';
import { noticeSeconds } from './slurm-script.js';
import { fillTemplate } from './texts.js';
import type { RowKind, TokenCheck } from './trl-rows.js';
import type { TrlJob } from './trl-settings.js';

/** Package versions the exports were tested with; the next major versions are excluded. */
const tested = Object.entries({
  torch: '2.13',
  transformers: '5.18',
  trl: '1.13',
  peft: '0.21',
  datasets: '5.0',
  accelerate: '1.15',
});

export function requirements({ strategy }: Machines): string {
  const lines = tested.map(([name, release]) => `${name}>=${release},<${Number.parseInt(release, 10) + 1}`);
  return `${[...lines, ...(strategy === 'zero2' ? ['deepspeed'] : [])].join('\n')}\n`;
}

export interface FolderFacts {
  readonly rows: RowKind;
  /** Undefined if the base model's files weren't available. */
  readonly tokens: TokenCheck | undefined;
  readonly examples: { readonly train: number; readonly validation: number };
  readonly seeds: number;
  readonly warnings: readonly string[];
}

export function instructions(job: TrlJob, facts: FolderFacts): string {
  const { trainer, machines, config } = job;
  const { tokens } = facts;
  return fillTemplate('README.md', {
    ...job,
    ...facts,
    processes: processesOf(machines),
    local: machines.nodes === 1,
    result: facts.seeds > 1 ? `output/seed-${config.seed}` : '.',
    tested: tested.map(([name, release]) => `${name} ${release}`).join(', '),
    steps: accumulation(machines, config.batchExamples),
    noticeSeconds,
    tokenRows: facts.rows === 'tokens',
    pairs: trainer === 'dpo',
    compared: tokens && tokens.same + tokens.longer + tokens.different,
    patient: config.patience !== undefined,
  });
}
