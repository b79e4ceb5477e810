/** Generates the text files of an exported folder: fills templates, quotes shell words, and writes YAML for Python. */
import Handlebars from 'handlebars';
import { Document, type ScalarTag, visit } from 'yaml';
import { UserError } from '../../src/base/errors.js';
import { packageText } from '../../src/base/package.js';
import { plural } from '../../src/format/numbers.js';
import { requireOneLine, shellWord } from '../../src/format/one-line.js';
import type { RowKind, TokenCheck } from './trl-rows.js';
import { accumulation, type Machines, processesOf, type TrlJob, type TrlTrainer } from './trl-settings.js';

const handlebars = Handlebars.create();
handlebars.registerHelper({
  plural,
  word: shellWord,
  code: (text: string) => `\`${text.replaceAll('`', "'").replaceAll(/\s+/g, ' ')}\``,
});

/**
 * Fills a template from `templates/`. Values are inserted unescaped; for untrusted text, templates use the helpers
 * `word` (shell) and `code` (Markdown).
 * @throws UserError if a value contains a line break; Error if a value that the template uses is missing
 */
export function fillTemplate(name: string, values: object): string {
  const source = packageText(`finetune/handoff/templates/${name}.hbs`);
  return handlebars.compile(source, { noEscape: true, strict: true })(requireOneLine(values));
}

/** YAML 1.1 reads `1e-8` as a string and `1.0e-8` as a number. */
const exponent: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  identify: (value) => typeof value === 'number' && /^-?\de/.test(String(value)),
  test: /^-?\d\.0e[+-]\d+$/,
  resolve: Number,
  stringify: ({ value }) => String(value).replace('e', '.0e'),
};

/** Writes YAML 1.1, which PyYAML reads: quotes strings, and adds a decimal point before exponents. */
export function yamlText(mapping: object): string {
  const document = new Document(mapping, { version: '1.1', customTags: (tags) => [exponent, ...tags] });
  visit(document, {
    Seq: (_, list) => {
      list.flow = true;
    },
  });
  const text = document.toString({
    defaultKeyType: 'PLAIN',
    defaultStringType: 'QUOTE_DOUBLE',
    doubleQuotedAsJSON: true,
    flowCollectionPadding: false,
    lineWidth: 0,
  });
  // Escape characters that PyYAML rejects as unprintable. They can occur only in quoted strings.
  return text.replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Package versions that exports were tested with; `requirements.txt` excludes the next major versions. */
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

export interface Queue {
  readonly name: string;
  readonly time: string;
  readonly partition: string | undefined;
  readonly account: string | undefined;
  /** Number of training runs that differ only in their seed; several become a job array. */
  readonly seeds: number;
}

/** Slurm signals the script this many seconds before the time limit; a step and a checkpoint must fit in that time. */
const noticeSeconds = 120;

/** CPU cores per GPU, for data loading. */
const coresPerGpu = 8;

/**
 * The job script. Before the time limit, Slurm signals the job, which then saves a checkpoint and requeues itself. The
 * job fails if there is no new checkpoint, because it would otherwise restart forever.
 * @throws UserError for values that can't be used in an `#SBATCH` line
 */
export function slurmScript(trainer: TrlTrainer, machines: Machines, queue: Queue, seed: number): string {
  const { name, time, partition, account, seeds } = queue;
  return fillTemplate('slurm.sh', {
    trainer,
    machines,
    seed,
    noticeSeconds,
    cores: machines.gpusPerNode * coresPerGpu,
    name: sbatchValue('--name', name),
    time: slurmTime(time),
    partition: partition === undefined ? undefined : sbatchValue('--partition', partition),
    account: account === undefined ? undefined : sbatchValue('--account', account),
    array: seeds > 1 ? `0-${seeds - 1}` : undefined,
  });
}

/** Validates a value for an `#SBATCH --option=value` line, where quoting has no effect. */
function sbatchValue(option: string, value: string): string {
  if (/^[\w.:,@+-]+$/.test(value) && !value.startsWith('-')) return value;
  throw new UserError({
    field: option,
    message: 'must contain only letters, digits and the characters _.:,@+- and must not begin with -',
    value,
  });
}

function slurmTime(value: string): string {
  if (/^(\d+|\d+:\d\d|\d+:\d\d:\d\d|\d+-\d+(:\d\d){0,2})$/.test(value)) return value;
  throw new UserError({
    field: '--time',
    message: 'not a Slurm time limit',
    value,
    remedy: 'write minutes (90), hours (4:00:00) or days (2-12:00:00)',
  });
}
