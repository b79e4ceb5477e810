/** Reads the sources of an audit: runs, and records of other systems. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { type CommandContext, shownPath } from '../../base/context.js';
import { mapThrownProblems, messageOf, type Problem, UserError } from '../../base/errors.js';
import { plural } from '../../base/text/numbers.js';
import { warningText } from '../../base/text/progress.js';
import { parseConfig } from '../../config/load.js';
import { resolveDefaults as resolved } from '../../config/resolve.js';
import { openPolicyFamily } from '../../policies/families.js';
import { programsOf } from '../../policies/policy.js';
import { openTask } from '../../rollout/task.js';
import { findRuns } from '../../runs/listing/names.js';
import { type OpenedRun, readPlayableRun } from '../../runs/open-run.js';
import { candidateName } from '../../runs/summary.js';
import { type AuditRecord, readRecord } from './record.js';

export interface SourceRequest {
  /** Runs, directories of runs, and records in .csv or .jsonl files. */
  readonly sources: readonly string[];
  readonly runsDir: string;
  /** Environment and policy of the records, as in a config. */
  readonly environment?: string | undefined;
  readonly policy?: string | undefined;
}

export interface AuditSource extends AuditRecord, Pick<OpenedRun, 'config' | 'family'> {
  /** Path of the run or file, for display. */
  readonly name: string;
  /** Equal for sources that share searches: all records, or runs with the same environment, policies and evaluation. */
  readonly task: string;
}

/**
 * Reads the sources. If a name selects several runs, leaves out unusable ones, with a note.
 * @throws UserError for an unusable source, a record without --environment, or --environment or --policy without one
 */
export async function readSources(
  request: SourceRequest,
  { cwd, env, note }: Pick<CommandContext, 'cwd' | 'env' | 'note'>,
): Promise<readonly AuditSource[]> {
  const { runsDir, sources } = request;
  const isRecord = (name: string) =>
    /\.(csv|jsonl)$/i.test(name) ||
    statSync(resolve(cwd, name), { throwIfNoEntry: false })?.isFile() === true;
  const policies = sources.some(isRecord) ? await openPolicies(request, cwd, env) : rejectOptions(request);
  const foundSources: AuditSource[] = [];
  for (const name of sources) {
    if (isRecord(name)) {
      const record = readRecord(resolve(cwd, name), name);
      requireVectors(name, record, policies!);
      foundSources.push({ ...record, ...policies!, name, task: 'record' });
      continue;
    }
    const paths = findRuns([name], { cwd, runsDir });
    for (const path of paths) {
      const run = await readRunSource(path, cwd).catch((error: unknown) => {
        if (paths.length === 1 || !(error instanceof UserError)) throw error;
        note(warningText(`${shownPath(path, cwd)} left out: ${error.problems[0]!.message}`));
      });
      if (run !== undefined) foundSources.push(run);
    }
  }
  if (foundSources.length > 0) return foundSources;
  throw new UserError({ value: sources.join(' '), message: 'none of these runs can be audited' });
}

async function readRunSource(path: string, cwd: string): Promise<AuditSource> {
  const name = shownPath(path, cwd);
  const { config, family, recorded } = await readPlayableRun(path);
  const evaluations = recorded.entries.map((entry) => ({ ...entry, name: candidateName(entry, config) }));
  if (evaluations.length === 0) throw new UserError({ value: name, message: 'this run has no evaluation' });
  const { environment, evaluation, policy } = config;
  const programKey = programsOf(family) === undefined ? '' : name;
  const task = JSON.stringify([environment, policy, evaluation, programKey]);
  return { evaluations, unknown: 0, config, family, name, task };
}

function rejectOptions({ environment, policy }: SourceRequest): undefined {
  if (environment === undefined && policy === undefined) return undefined;
  throw new UserError({
    field: environment === undefined ? '--policy' : '--environment',
    value: environment ?? policy,
    message: 'applies only to records in files; a run uses its config',
  });
}

/** Opens the policies that the options describe, for all records. */
async function openPolicies(
  { environment, policy }: SourceRequest,
  cwd: string,
  env: CommandContext['env'],
): Promise<Pick<AuditSource, 'config' | 'family'>> {
  if (environment === undefined)
    throw new UserError({
      field: '--environment',
      message: 'a record needs the environment in which it was made',
      hint: 'add one, such as --environment CartPole-v1; list them with policyloop environments',
    });
  const kind = policy && parseYaml('--policy', policy);
  const settings = {
    environment: parseYaml('--environment', environment),
    policy: typeof kind === 'string' ? { kind } : kind,
    model: { provider: 'random' },
  };
  const toOption = ({ field, ...problem }: Problem): Problem => ({
    ...problem,
    ...(field !== undefined && { field: `--${field}` }),
  });
  return mapThrownProblems(async () => {
    const config = parseConfig(settings, cwd);
    const task = await openTask(config.environment, undefined, env, 1);
    await task.close?.();
    const { policy: own } = resolved(config, { environment: task });
    return { config: { ...config, policy: own }, family: await openPolicyFamily(own, task) };
  }, toOption);
}

function parseYaml(field: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new UserError({ field, value: text, message: messageOf(error).split('\n', 1)[0]! });
  }
}

/** @throws UserError for the first vector that doesn't fit these policies */
function requireVectors(
  file: string,
  { evaluations }: AuditRecord,
  { config, family }: Pick<AuditSource, 'config' | 'family'>,
): void {
  const { choices, count } = family.parameters;
  for (const { line, parameters } of evaluations) {
    const wrongValue = choices && parameters.find((value) => !choices.includes(value));
    if (parameters.length === count && wrongValue === undefined) continue;
    const policyText = `${config.policy.kind} policies for ${config.environment.id}`;
    throw new UserError({
      file,
      line: line!,
      field: 'parameters',
      value: parameters.join(' '),
      message:
        wrongValue === undefined
          ? `has ${plural(parameters.length, 'parameter')}, but ${policyText} have ${count}`
          : `has the parameter ${wrongValue}, but parameters of ${policyText} must be one of ${choices!.join(', ')}`,
      hint: "state the kind of policy with --policy, e.g. --policy '{kind: linear, bias: false}'",
    });
  }
}
