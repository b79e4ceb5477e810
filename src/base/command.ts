/** The type of a command, and the options that many commands share. */
import type { Argv } from 'yargs';
import type { CommandContext } from './context.js';

type CamelCase<K> = K extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : K;

type ReadonlyIfArray<V> = V extends readonly (infer E)[] ? readonly E[] : V;

type DeclaredArguments<Options> = Options extends (y: never) => Argv<infer T> ? T : never;

/** The arguments that `options` declares, e.g. `runDir` for `--run-dir`; optional if they may be undefined. */
export type Arguments<Options, T = DeclaredArguments<Options>> = {
  readonly [K in keyof T as undefined extends T[K] ? never : CamelCase<K>]: ReadonlyIfArray<T[K]>;
} & {
  readonly [K in keyof T as undefined extends T[K] ? CamelCase<K> : never]?: ReadonlyIfArray<T[K]>;
};

/** Exported by each file in `commands/`. `cli.ts` loads only the command that runs, so `--help` is fast. */
export interface Command<T> {
  /** Declares arguments, options and examples; determines the type of the arguments of `execute`. */
  options(y: Argv): Argv<T>;
  /** @returns the exit code */
  execute(args: Arguments<unknown, T>, context: CommandContext): number | Promise<number>;
  /** Message after the first Ctrl-C, which asks the command to finish; omitted if Ctrl-C ends the command at once. */
  readonly finishingText?: string;
}

/** A line of `--help`: a command's signature and description, and a function that loads it. */
export type ListedCommand = readonly [
  signature: string,
  describe: string,
  load: () => Promise<Command<unknown>>,
];

const text = { type: 'string', requiresArg: true } as const;
const number = { type: 'number', requiresArg: true } as const;
const flag = { type: 'boolean', default: false } as const;

/** Option types, to spread into an option: `y.option('top', { ...kinds.number, default: 10, describe: '…' })`. */
export const kinds = { text, number, flag } as const;

/** Options with the same meaning in every command. */
export const commonOptions = {
  config: { type: 'string', demandOption: true, describe: 'Config file, or the name of a bundled config' },
  run: {
    type: 'string',
    demandOption: true,
    describe: 'Run: a directory, a name or prefix, a number from policyloop list, or latest',
  },
  playedRun: {
    type: 'string',
    demandOption: true,
    describe:
      'Run (a directory, a name or prefix, a number from policyloop list, or latest), or a program in a .js file',
  },
  programEnvironment: { ...text, describe: 'Environment for a program in a .js file' },
  runs: {
    type: 'string',
    array: true,
    demandOption: true,
    describe: 'Runs, directories of runs (sweeps, evaluations), or quoted patterns',
  },
  anyRuns: {
    type: 'string',
    array: true,
    demandOption: true,
    describe: 'Runs, training runs, directories of runs (sweeps, evaluations), or quoted patterns',
  },
  labelTarget: {
    type: 'string',
    demandOption: true,
    describe: 'Run, training run or directory of runs, by name or path, or a quoted pattern',
  },
  overrides: {
    type: 'string',
    array: true,
    default: [],
    describe: 'Changes to the config: key=value, e.g. model.name=qwen3:8b',
  },
  runDir: { ...text, describe: 'Directory of this run (default: a new one in --runs-dir)' },
  runsDir: { ...text, default: 'buffers', describe: 'Directory for runs' },
  out: { ...text, describe: 'Directory for the runs (default: one in --runs-dir, with a hash in its name)' },
  workers: {
    ...number,
    describe: "Threads that play episodes, or processes for environments in Python (default: the config's)",
  },
  jobs: { ...number, describe: 'Number of parallel runs (default: 1)' },
  slurm: {
    type: 'boolean',
    describe: 'Submit the runs to Slurm; repeat the command to see their progress and results',
  },
  part: { ...text, describe: 'Start only this part of the runs: 0/4 is the first of four, 3/4 the last' },
  open: { type: 'boolean', describe: 'Open the page in a browser' },
  quiet: { ...flag, describe: 'Hide progress' },
  json: { ...flag, describe: 'Print JSON' },
  ignoreKeys: {
    ...text,
    describe: "Unknown keys to ignore in a model's or adapter's config, separated by commas",
  },
  jsonLines: { ...flag, describe: 'Print events as JSON lines; the last line is the result' },
  jsonRuns: { ...flag, describe: 'Print a JSON line per run; the last line is the result' },
} as const;

/** Options of commands that start many runs. */
export const manyRunOptions = {
  out: commonOptions.out,
  'runs-dir': commonOptions.runsDir,
  jobs: commonOptions.jobs,
  slurm: commonOptions.slurm,
  part: commonOptions.part,
  quiet: commonOptions.quiet,
  json: commonOptions.jsonRuns,
} as const;

export const studyOptions = <T>(y: Argv<T>) =>
  y.options({
    seed: { ...number, describe: 'First seed (default: the seed of the first config)' },
    ...manyRunOptions,
  });

export const configArguments = <T>(y: Argv<T>, config: string, overrides: string) =>
  y
    .positional('config', { type: 'string', demandOption: true, describe: config })
    .positional('overrides', { ...commonOptions.overrides, describe: overrides });

export const trainingOptions = <T>(y: Argv<T>) =>
  y
    .option('finish', {
      type: 'boolean',
      describe: 'Write the result from the checkpoint, without further training',
    })
    .option('dry-run', {
      type: 'boolean',
      describe: 'Show what would be trained, without training (writes only caches next to the model)',
    })
    .option('open', { ...commonOptions.open, describe: 'Open the live page in a browser' })
    .option('quiet', commonOptions.quiet)
    .option('json', commonOptions.jsonLines);

/** Splits `--ignore-keys a,b` into a list; undefined if the option is omitted. */
export const splitList = (text: string | undefined): readonly string[] | undefined =>
  text?.split(',').map((part) => part.trim());

/** `--workers 2` is short for `evaluation.workers=2`. */
export const withWorkers = (overrides: readonly string[], workers: number | undefined): readonly string[] =>
  workers === undefined ? overrides : [...overrides, `evaluation.workers=${workers}`];
