/** Opens what an audit reads: runs, and records of other systems. */
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { type CommandContext, shownPath } from '../../base/context.js';
import { changingProblems, messageOf, type Problem, UserError } from '../../base/errors.js';
import { plural } from '../../base/text/numbers.js';
import type { Config } from '../../config/config.js';
import { parseConfig } from '../../config/load.js';
import { resolve as resolved } from '../../config/resolve.js';
import { returnRange } from '../../environments/catalogue/known-bounds.js';
import { closeEnvironment, workersFor } from '../../experiment/setup/assemble.js';
import { openPolicyFamily } from '../../policies/families.js';
import { type PolicyFamily, programsOf } from '../../policies/policy.js';
import type { PolicyConfig } from '../../policies/settings.js';
import { vectorKey } from '../../rollout/replay-buffer.js';
import { openTask } from '../../rollout/task.js';
import { findRuns } from '../../runs/listing/names.js';
import { readWholeRun } from '../../runs/open-run.js';
import { placeName } from '../../runs/summary.js';
import { largest } from '../../statistics/descriptive.js';
import type { Source } from './audit.js';
import { isRecordFile, type Recorded, type RecordedEvaluation, readRecord } from './record.js';

export interface SourceRequest {
  /** Runs, directories of runs, and records in .csv or .jsonl files. */
  readonly sources: readonly string[];
  readonly runsDir: string;
  /** Environment and policy of the records, as in a config. */
  readonly environment?: string | undefined;
  readonly policy?: string | undefined;
}

/** A source, closed until it is needed. */
export interface FoundSource {
  readonly name: string;
  /** Its task and policies: searches are shared by sources that have the same. */
  readonly task: string;
  /** Number of evaluations with known parameters. */
  readonly evaluations: number;
  /** Number of distinct parameter vectors. */
  readonly policies: number;
  readonly config: PlayedConfig;
  /** Number of episodes per evaluation. */
  readonly episodes: number;
  open(context: Pick<CommandContext, 'env'>): Promise<Source & { close(): Promise<void> }>;
}

type PlayedConfig = Config & { readonly policy: PolicyConfig };

/** @throws UserError for an unknown run or file, or a record that is damaged or lacks an environment */
export async function findSources(
  request: SourceRequest,
  context: Pick<CommandContext, 'cwd' | 'env'>,
): Promise<readonly FoundSource[]> {
  const { cwd } = context;
  const { environment, runsDir, sources } = request;
  const isRecord = (name: string) => isRecordFile(name) || isFile(resolve(cwd, name));
  const records = sources.filter(isRecord);
  const unused = environment === undefined ? 'policy' : 'environment';
  if (records.length === 0 && request[unused] !== undefined)
    throw new UserError({
      field: `--${unused}`,
      value: request[unused],
      message: 'can only be used with a record in a file; runs know their own',
    });
  const found: FoundSource[] = [];
  for (const name of sources) {
    if (isRecord(name)) found.push(await ofRecord(name, request, context));
    else
      for (const path of findRuns([name], { cwd, runsDir }))
        found.push(await ofRun(path, shownPath(path, cwd)));
  }
  return found;
}

const isFile = (path: string) => existsSync(path) && statSync(path).isFile();

async function ofRun(path: string, name: string): Promise<FoundSource> {
  const { config, family, recorded } = await readWholeRun(path);
  const evaluations = recorded.entries.map((entry) => ({ ...entry, name: placeName(entry, config) }));
  if (evaluations.length === 0) throw new UserError({ value: name, message: 'this run has no evaluation' });
  return sourceOf(name, { config, family }, { evaluations, unknown: 0 }, config.evaluation.episodes);
}

async function ofRecord(
  name: string,
  { environment, policy }: SourceRequest,
  { cwd, env }: Pick<CommandContext, 'cwd' | 'env'>,
): Promise<FoundSource> {
  const file = resolve(cwd, name);
  if (!isFile(file)) throw new UserError({ file: name, message: 'there is no such file' });
  if (!isRecordFile(name))
    throw new UserError({
      file: name,
      message: 'must end in .csv or .jsonl',
      hint: 'rename or convert the file',
    });
  if (environment === undefined)
    throw new UserError({
      field: '--environment',
      message: 'a record needs the environment in which it was made',
      hint: 'add one, such as --environment CartPole-v1; list them with policyloop environments',
    });
  const kind = policy && inYaml('--policy', policy);
  const given = {
    environment: inYaml('--environment', environment),
    policy: typeof kind === 'string' ? { kind } : kind,
    model: { provider: 'random' },
  };
  const asOption = ({ field, ...problem }: Problem): Problem => ({
    ...problem,
    ...(field !== undefined && { field: `--${field}` }),
  });
  const whole = await changingProblems(async () => {
    const config = parseConfig(given, cwd);
    const task = await openTask(config.environment, undefined, env, 1);
    await task.close?.();
    const { policy: own } = resolved(config, { environment: task });
    return { config: { ...config, policy: own }, family: await openPolicyFamily(own, task) };
  }, asOption);
  const recorded = readRecord(file, name);
  for (const evaluation of recorded.evaluations) requireVector(name, evaluation, whole.family, environment);
  const episodes = largest(recorded.evaluations.map(({ returns }) => returns.length));
  return sourceOf(name, whole, recorded, episodes);
}

function inYaml(field: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new UserError({ field, value: text, message: messageOf(error).split('\n', 1)[0]! });
  }
}

function requireVector(
  file: string,
  { line, parameters }: RecordedEvaluation,
  { parameters: { choices, count } }: PolicyFamily,
  environment: string,
): void {
  const place = { file, ...(line !== undefined && { line }), field: 'parameters' };
  if (parameters.length !== count)
    throw new UserError({
      ...place,
      value: parameters.length,
      message: `has ${plural(parameters.length, 'parameter')}, but these policies for ${environment} have ${count}`,
      hint: "choose the record's policies with --policy, e.g. --policy '{kind: linear, bias: false}'",
    });
  const wrong = choices && parameters.find((value) => !choices.includes(value));
  if (wrong !== undefined)
    throw new UserError({
      ...place,
      value: wrong,
      message: 'is no action of these policies',
      alternatives: choices!.map(String),
    });
}

function sourceOf(
  name: string,
  { config, family }: Pick<FoundSource, 'config'> & { readonly family: PolicyFamily },
  recorded: Recorded,
  episodes: number,
): FoundSource {
  const { environment, evaluation, policy } = config;
  return {
    name,
    task: JSON.stringify([environment, policy, evaluation, programsOf(family) === undefined ? '' : name]),
    evaluations: recorded.evaluations.length,
    policies: new Set(recorded.evaluations.map(({ parameters }) => vectorKey(parameters))).size,
    episodes: episodes > 0 ? episodes : evaluation.episodes,
    config,
    async open({ env }) {
      const task = await openTask(environment, evaluation.reward, env, 1);
      const workers = workersFor(config);
      return {
        ...recorded,
        name,
        range: returnRange(environment, evaluation),
        setting: { environment: task, family, workers, maxSteps: evaluation.maxSteps, record: 'none' },
        close: () => closeEnvironment({ environment: task, workers }),
      };
    },
  };
}
