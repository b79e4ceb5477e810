/** Tools of the MCP server. Each runs a command, some of whose arguments a client can set. */
import { z } from 'zod';
import { confinedConfig, confinedEnvironment, confinedRun, plainOverride } from './confined.js';

export interface Tool {
  readonly name: string;
  readonly command: string;
  readonly description: string;
  readonly input: z.ZodObject;
  /** Arguments that the client can't set. */
  readonly presets?: Readonly<Record<string, unknown>>;
  /** Shortens the result of a call with these arguments. */
  readonly shorten?: (result: unknown, args: Readonly<Record<string, unknown>>) => unknown;
  /** False for tools that change or start something; these require `--allow-runs`. */
  readonly isReadOnly: boolean;
  /** True if the tool starts a process that continues after the call. */
  readonly launches?: true;
}

const run = confinedRun.describe('Run: name or prefix, number in list_runs, or latest');
const runs = z.array(confinedRun).min(1).max(100).describe('Runs, directories of runs, or patterns');
const count = z.int().min(1);
const overrides = z
  .array(plainOverride)
  .max(50)
  .default([])
  .describe(
    'Changes to budgets and search: key=value, e.g. iterations=50, limits.calls=200, model.provider=cma-es (a baseline)',
  );

type EnvironmentList = readonly {
  readonly id: string;
  readonly observation: string;
  readonly action: string;
  readonly description: string;
}[];

/** Keeps the id, the spaces and the first sentence of the description. */
function shortenEntry({ action, description, id, observation }: EnvironmentList[number]) {
  const [sentence] = description.split(/(?<=[.!?])\s/, 1);
  return { id, observation, action, description: sentence };
}

/** The tools, in the order in which clients receive them. */
export const tools: readonly Tool[] = [
  {
    name: 'list_runs',
    command: 'list',
    isReadOnly: true,
    description: 'Lists runs and training runs: status, best observed return, confirmed return',
    input: z.strictObject({
      filters: z
        .array(z.string().max(200))
        .max(20)
        .optional()
        .describe(
          'Filters such as status=failed or best=400.. (a range); keys: environment, model, status, tag, name, best, confirmed',
        ),
      sort: z.string().max(50).optional().describe('Sort key: highest or newest first, texts from A to Z'),
      limit: count.default(20).describe('Maximum number of runs, and of training runs; newest unless sorted'),
    }),
  },
  {
    name: 'show_run',
    command: 'show',
    isReadOnly: true,
    description:
      'Shows a run: status, best evaluations, confirmed return with its 95 % interval, failures, usage. Judge by `confirmed`, not by `best`.',
    input: z.strictObject({ run, top: count.max(1000).optional().describe('Number of evaluations to list') }),
  },
  {
    name: 'show_iteration',
    command: 'show',
    isReadOnly: true,
    description: 'Shows an iteration of a run: prompts, replies and scores',
    input: z.strictObject({
      run,
      iteration: z.int().min(0).describe('Iteration number; 0 is the warm-up'),
      candidate: count.optional().describe('Candidate, numbered from 1 (default: all)'),
    }),
  },
  {
    name: 'compare_runs',
    command: 'compare',
    isReadOnly: true,
    description: 'Compares groups of runs: confirmed returns with intervals, differences with verdicts',
    input: z.strictObject({
      runs,
      by: z.string().max(200).optional().describe('Config keys that define the groups, e.g. model'),
      target: z.number().optional().describe('Target return for comparing learning speed'),
      unfinished: z.boolean().optional().describe('True to include unfinished runs'),
    }),
  },
  {
    name: 'environments',
    command: 'environments',
    isReadOnly: true,
    description: 'Lists built-in environments; with an id: its options, observations, actions and rewards',
    input: z.strictObject({ id: confinedEnvironment.optional().describe('Environment to show in detail') }),
    shorten: (result, { id }) => (id === undefined ? (result as EnvironmentList).map(shortenEntry) : result),
  },
  {
    name: 'check_config',
    command: 'check',
    isReadOnly: true,
    description:
      'Finds problems in configs and estimates run costs, without contacting servers; without configs, checks the setup of this machine',
    input: z.strictObject({ configs: z.array(confinedConfig).max(20).default([]), overrides }),
    presets: { offline: true },
  },
  {
    name: 'run',
    command: 'run',
    isReadOnly: false,
    launches: true,
    description:
      "Starts an experiment in its own process and returns the run's path; follow it with show_run",
    input: z.strictObject({
      config: confinedConfig.describe('A config file, or the name of a bundled config'),
      overrides,
    }),
  },
  {
    name: 'resume_run',
    command: 'resume',
    isReadOnly: false,
    launches: true,
    description: 'Resumes a stopped or crashed run, or extends it (e.g. iterations=200)',
    input: z.strictObject({ run, overrides }),
  },
  {
    name: 'stop_run',
    command: 'stop',
    isReadOnly: false,
    description: 'Stops runs once pending calls and evaluations have ended; resume_run can continue a run',
    input: z.strictObject({ runs, now: z.boolean().optional().describe('True to abort pending work') }),
  },
  {
    name: 'evaluate_run',
    command: 'evaluate',
    isReadOnly: false,
    description: 'Evaluates the best policy of a run on fresh seeds: mean return with its 95 % interval',
    input: z.strictObject({
      run,
      episodes: count.max(100_000).optional().describe('Number of episodes (default: 100)'),
      iteration: z.int().min(0).optional().describe('Iteration whose best candidate is evaluated'),
      seed: z.int().min(0).optional().describe("Root seed of the episodes (default: the run's seed)"),
    }),
  },
];
