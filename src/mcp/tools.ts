/** The tools of the MCP server: each runs a command with `--json`, with the arguments that a client may give. */
import { z } from 'zod';
import { confinedConfig, confinedId, confinedRun, plainOverride } from './confined.js';

export interface Tool {
  readonly name: string;
  readonly command: string;
  readonly description: string;
  readonly input: z.ZodObject;
  /** Arguments that the client can't set. */
  readonly fixed?: Readonly<Record<string, unknown>>;
  /** Tools that don't only read need `--allow-runs`. */
  readonly reads: boolean;
  /** It runs in its own process, which outlives the call. */
  readonly launches?: true;
}

const run = confinedRun.describe('Name of a run or how that begins, its number in list_runs, or latest');
const runs = z.array(confinedRun).min(1).max(100).describe('Runs, directories of runs, or patterns');
const count = z.int().min(1);
const overrides = z
  .array(plainOverride)
  .max(50)
  .default([])
  .describe(
    'key=value of budgets and search, e.g. iterations=50, limits.calls=200, model.provider=cma-es (a control)',
  );

/** In the order in which clients show them. */
export const tools: readonly Tool[] = [
  {
    ...{ name: 'list_runs', command: 'list', reads: true },
    description: 'Runs and trainings with their state, best observed and confirmed returns',
    input: z.strictObject({
      filters: z
        .array(z.string().max(200))
        .max(20)
        .optional()
        .describe('key=value: environment, model, status, tag, name, best, confirmed; best=400.. is a range'),
      sort: z.string().max(50).optional().describe('Key that orders them, the highest or newest first'),
      limit: count.optional(),
    }),
  },
  {
    ...{ name: 'show_run', command: 'show', reads: true },
    description:
      'A run: status, best evaluations, confirmed return with its 95 % interval, failures, usage. Judge by `confirmed`, not by `best`.',
    input: z.strictObject({ run, top: count.max(1000).optional().describe('Evaluations that are listed') }),
  },
  {
    ...{ name: 'show_iteration', command: 'show', reads: true },
    description: 'One iteration of a run: what the model was asked, what it answered, what that scored',
    input: z.strictObject({
      run,
      iteration: z.int().min(0).describe('0: the warm-up'),
      candidate: count.optional().describe('Only this candidate of it, from 1'),
    }),
  },
  {
    ...{ name: 'compare_runs', command: 'compare', reads: true },
    description:
      'Groups of repeats against each other: confirmed returns with intervals, differences with verdicts',
    input: z.strictObject({
      runs,
      by: z.string().max(200).optional().describe('Keys of the config that make the groups, e.g. model'),
      target: z.number().optional().describe('Return to time runs by'),
      unfinished: z.boolean().optional().describe('Count runs that have not come to their end, too'),
    }),
  },
  {
    ...{ name: 'query_runs', command: 'query', reads: true },
    description:
      'One SQL SELECT over the tables runs, evaluations, episodes, calls, steps, e.g. SELECT environment, model, avg(confirmed) FROM runs GROUP BY ALL. Nothing can be changed by it.',
    input: z.strictObject({ sql: z.string().min(1).max(20_000), runs: runs.optional() }),
  },
  {
    ...{ name: 'environments', command: 'environments', reads: true },
    description: 'Built-in environments: spaces, options, what a model is told',
    input: z.strictObject({ id: confinedId.optional().describe('Only this one') }),
  },
  {
    ...{ name: 'check_config', command: 'check', reads: true },
    description: 'What can go wrong with a config and what its run will cost, without asking any server',
    input: z.strictObject({ configs: z.array(confinedConfig).min(1).max(20), overrides }),
    fixed: { offline: true },
  },
  {
    ...{ name: 'doctor', command: 'doctor', reads: true },
    description: 'What is there and works on this machine, and what to do where it does not',
    input: z.strictObject({}),
    fixed: { offline: true },
  },
  {
    ...{ name: 'run', command: 'run', reads: false, launches: true },
    description:
      'Begins an experiment in a process of its own, and returns its name at once; show_run tells how it goes',
    input: z.strictObject({
      config: confinedConfig.describe('A config file, or the name of a ready one'),
      overrides,
    }),
  },
  {
    ...{ name: 'resume_run', command: 'resume', reads: false, launches: true },
    description: 'Goes on with a run that was paused, stopped or cut off, or for more (iterations=200)',
    input: z.strictObject({ run, overrides }),
  },
  {
    ...{ name: 'pause_run', command: 'pause', reads: false },
    description: 'Lets runs that are played wait behind their iteration; resume_run goes on',
    input: z.strictObject({ runs }),
  },
  {
    ...{ name: 'stop_run', command: 'stop', reads: false },
    description: 'Ends runs that are played, behind their iteration; resume_run can go on with them later',
    input: z.strictObject({
      runs,
      now: z.boolean().optional().describe('Wait for no call under way'),
    }),
  },
  {
    ...{ name: 'evaluate_run', command: 'evaluate', reads: false },
    description: 'Plays the best policy of a run on fresh seeds: mean return with its 95 % interval',
    input: z.strictObject({
      run,
      episodes: count.max(100_000).optional().describe('100 by default'),
      iteration: z.int().min(0).optional().describe('The best candidate of this iteration instead'),
      seed: z.int().min(0).optional(),
    }),
  },
];
