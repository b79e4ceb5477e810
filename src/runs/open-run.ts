import { closeSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { append } from '../base/append.js';
import { UserError } from '../base/errors.js';
import { openRegularFile } from '../base/files/regular-file.js';
import type { Config, ConfigWithPolicy } from '../config/config.js';
import { loadConfig } from '../config/load.js';
import { isSelfContainedId, makeEnvironment } from '../environments/catalogue/open.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import { createPolicyFamily, openPolicyFamily } from '../policies/families.js';
import { recordedPolicies } from '../policies/module-policy.js';
import type { PolicyFamily } from '../policies/policy.js';
import { programsOf } from '../policies/policy.js';
import { ProgramFault } from '../policies/program/program.js';
import type { PolicyConfig } from '../policies/settings.js';
import { type BufferEntry, bestEntry } from '../rollout/replay-buffer.js';
import { finalConfirmation } from './events.js';
import type { RecordedRun } from './logs.js';
import type { Manifest } from './manifest.js';
import { openLogs, readManifest, runFiles } from './reader.js';

export interface OpenedRun {
  readonly path: string;
  readonly manifest: Manifest;
  readonly config: ConfigWithPolicy;
  readonly environment: EnvironmentSpec;
  readonly family: PolicyFamily;
  readonly recorded: RecordedRun;
}

/** Returns the path of a run's config. @throws UserError if it is missing or not a regular file */
export function requireConfig(file: string): string {
  if (existsSync(file)) {
    closeSync(openRegularFile(file, 'reject').descriptor);
    return file;
  }
  throw new UserError({
    file,
    message: "this run's config is missing",
    hint: "restore it from a copy, or write a new one with the run's settings",
  });
}

/** Opens a run to play its policies again; imports the user's modules. @throws UserError for a damaged or agent run */
export async function readPlayableRun(path: string): Promise<OpenedRun> {
  const setup = await openSetup(path, async ({ manifest, config, policy }) => {
    const { id, options } = config.environment;
    const environment = recordedEnvironment(manifest) ?? (await makeEnvironment(id, options));
    return { environment, family: await openPolicyFamily(policy, environment) };
  });
  const recorded = openLogs(path);
  addPrograms(setup.family, recorded.entries);
  return { ...setup, recorded };
}

/**
 * Opens a run to show it, without importing or starting anything that it names. Broken log lines are skipped
 * and listed in `recorded.faults`.
 * @throws UserError if `path` is not an experiment, or its manifest or config is damaged
 */
export async function readShownRun(path: string): Promise<OpenedRun> {
  const { unknownNote, ...setup } = await readShownSetup(path);
  const recorded = openLogs(path, true);
  const programFaults = addPrograms(setup.family, recorded.entries);
  // Change the list itself, because it grows while calls and events are read.
  append(recorded.faults, unknownNote === undefined ? programFaults : [unknownNote, ...programFaults]);
  return { ...setup, recorded };
}

/** Adds the programs of a run to its policy family. @returns a message for each program that can't be read */
export function addPrograms(
  family: Pick<PolicyFamily, 'description'>,
  entries: readonly BufferEntry[],
): readonly string[] {
  const programs = programsOf(family);
  return entries.flatMap(({ iteration, program }) => {
    if (program === undefined || programs === undefined) return [];
    try {
      programs.add(program);
      return [];
    } catch (error) {
      if (error instanceof ProgramFault)
        return [`the program of iteration ${iteration} can't be read: ${error.message}`];
      throw error;
    }
  });
}

/** Like `readShownRun`, without the logs. `unknownNote` is set if the run doesn't record what its policies are. */
export const readShownSetup = (path: string) => openSetup(path, createShownParts);

type RunSetup = Omit<OpenedRun, 'recorded'>;
type RunParts = Pick<OpenedRun, 'environment' | 'family'> & { readonly unknownNote?: string };

async function openSetup(
  path: string,
  open: (run: {
    readonly manifest: Manifest;
    readonly config: Config;
    readonly policy: PolicyConfig;
  }) => Promise<RunParts>,
): Promise<RunSetup & Pick<RunParts, 'unknownNote'>> {
  const manifest = readManifest(path);
  if (manifest.play !== undefined)
    throw new UserError({
      message: 'this run was made by policyloop play; an agent has no numeric policy',
      value: path,
      hint: 'use policyloop show, report, resume or compare; for more games, run policyloop play with another seed',
    });
  const { config } = loadConfig({ file: requireConfig(join(path, runFiles.config)), asWritten: true });
  const { policy } = config;
  if (policy === undefined) {
    throw new UserError({
      file: join(path, runFiles.config),
      field: 'policy',
      message: "a run's config must specify its policy",
    });
  }
  return { path, manifest, config: { ...config, policy }, ...(await open({ manifest, config, policy })) };
}

/** The environment as recorded, if it isn't built in. Earlier versions didn't record its description. */
function recordedEnvironment({ environment: id, spec }: Manifest): EnvironmentSpec | undefined {
  return spec && { ...spec, id, ...(spec.description !== undefined && { words: spec }) };
}

const emptyBox = { kind: 'box', low: [], high: [] } as const;

/** Creates the environment and policies from built-in and recorded data, without running user code. */
async function createShownParts({
  config,
  manifest,
  policy,
}: Parameters<Parameters<typeof openSetup>[1]>[0]): Promise<RunParts> {
  const { environment: id, policy: recordedPolicy, spec } = manifest;
  const { environment: environmentConfig } = config;
  const isKnown = spec !== undefined || isSelfContainedId(environmentConfig.id);
  const environment: EnvironmentSpec =
    recordedEnvironment(manifest) ??
    (isKnown
      ? await makeEnvironment(environmentConfig.id, environmentConfig.options)
      : { id, observationSpace: emptyBox, actionSpace: emptyBox });
  if (recordedPolicy === undefined && isKnown && policy.kind !== 'module')
    return { environment, family: createPolicyFamily(policy, environment) };
  const count = manifest.best?.parameters?.length ?? 1;
  const family = recordedPolicies(recordedPolicy ?? { count });
  return recordedPolicy === undefined
    ? {
        environment,
        family,
        unknownNote: "this run doesn't record what its policies are, so they are shown as plain numbers",
      }
    : { environment, family };
}

export type NotableKind = 'best' | 'worst' | 'first';

/**
 * The best (confirmed if possible, otherwise observed), worst and first policy of a run; undefined before any
 * evaluation.
 */
export function notablePolicies(
  entries: readonly BufferEntry[],
  { confirmations }: Pick<Manifest, 'confirmations'>,
): Readonly<Record<NotableKind, BufferEntry>> | undefined {
  const [first] = entries;
  if (first === undefined) return undefined;
  const confirmed = finalConfirmation(confirmations);
  const best =
    entries.find(
      ({ iteration, candidate }) => iteration === confirmed?.iteration && candidate === confirmed.candidate,
    ) ?? bestEntry(entries)!;
  const worst = entries.reduce((lowest, entry) => (entry.score < lowest.score ? entry : lowest));
  return { best, worst, first };
}

/**
 * Finds a policy that the run evaluated.
 * @param wanted `best`, `worst`, `first`, or an iteration number
 * @param candidate 1-based candidate number within that iteration; defaults to the best one
 * @throws UserError if the run has evaluated no such policy
 */
export function choosePolicy(
  { recorded, manifest, path }: Pick<OpenedRun, 'recorded' | 'manifest' | 'path'>,
  wanted: NotableKind | number,
  candidate?: number,
): BufferEntry {
  const notable = notablePolicies(recorded.entries, manifest);
  if (notable === undefined) {
    throw new UserError({
      message: 'this run has no evaluated policy yet',
      value: path,
      hint: `wait for the first evaluation or, if it isn't running, run policyloop resume ${path}`,
    });
  }
  if (typeof wanted === 'string') return notable[wanted];
  const found = bestEntry(
    recorded.entries.filter(
      (entry) => entry.iteration === wanted && (candidate === undefined || entry.candidate === candidate - 1),
    ),
  );
  if (found !== undefined) return found;
  throw new UserError({
    field: candidate === undefined ? '--iteration' : '--candidate',
    message: 'this run evaluated no such policy',
    value: candidate ?? wanted,
    hint: `iterations are numbered from 0 (warm-up) to ${recorded.iteration}, and candidates from 1`,
  });
}
