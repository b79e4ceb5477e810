import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { UserError } from '../base/errors.js';
import { changedModules, type ModuleHashes } from '../base/modules/sources.js';
import type { Config } from '../config/config.js';
import type { LimitsConfig } from '../config/limits.js';
import { type LimitKey, limitField } from './calls.js';
import type { Manifest } from './manifest.js';

/** Keys that may change when a run resumes, because they don't affect the results of an iteration or game. */
const freeKeys: ReadonlySet<string> = new Set([
  'name',
  'iterations',
  'episodes',
  'target',
  'limits',
  'confirmation',
  'environment.python',
  'environment.modules',
  'environment.timeoutSeconds',
  'environment.parallel',
  'evaluation.workers',
  'model.concurrency',
  'model.timeoutSeconds',
  'model.maxRetries',
  'model.maxRetryAfterSeconds',
  'model.requestsPerMinute',
  'model.price',
  'model.baseUrl',
  'model.host',
  'model.apiKeyEnv',
  'model.keepAlive',
  'model.device',
  'model.threads',
  'model.onChange',
]);

/** SHA-256 of everything that must not change within a run: fixed settings, prompt templates and modules. */
export function fingerprint(config: object, promptHash: string, modules?: ModuleHashes): string {
  return createHash('sha256')
    .update(JSON.stringify([fixedEntries(config), promptHash, ...(modules === undefined ? [] : [modules])]))
    .digest('hex');
}

export const configChanges = (a: object, b: object) => changedSettings(fixedSettings(a), fixedSettings(b));

export const fixedSettings = (config: object): Manifest['settings'] =>
  Object.fromEntries(fixedEntries(config));

function changedSettings(oldSettings: Manifest['settings'], newSettings: Manifest['settings']) {
  return [...new Set([...Object.keys(oldSettings), ...Object.keys(newSettings)])]
    .filter((key) => JSON.stringify(oldSettings[key]) !== JSON.stringify(newSettings[key]))
    .map((key) => ({ key, was: oldSettings[key], now: newSettings[key] }));
}

const newStartHints = {
  run: "start a new run (with warmup.from, to import this run's replay buffer)",
  play: 'start a new run with the changed config (policyloop play CONFIG)',
} as const;

type Kind = keyof typeof newStartHints;

/** @throws UserError that names the changed settings that must not change within a run, if there are any */
export function rejectDifferences(oldConfig: object, config: object, kind: Kind = 'run'): void {
  requireSameSettings(fixedSettings(oldConfig), config, "can't change within a run", newStartHints[kind]);
}

/** @param message why a change is rejected */
function requireSameSettings(
  oldSettings: Manifest['settings'],
  config: object,
  message: string,
  hint: string,
  file?: string,
): void {
  const allChanges = changedSettings(oldSettings, fixedSettings(config));
  if (allChanges.length === 0) return;
  // Another provider, kind of policy or environment has other settings, which needn't be listed.
  const causes = allChanges.filter(({ key }) => /\.(provider|kind|id)$/.test(key)).map(({ key }) => key);
  const isConsequence = (key: string) =>
    causes.some((cause) => key !== cause && key.startsWith(cause.slice(0, cause.lastIndexOf('.') + 1)));
  const mainChanges = allChanges.filter(({ key }) => !isConsequence(key));
  throw new UserError(
    mainChanges.map(({ key, now, was: before }) => ({
      ...(file !== undefined && { file }),
      field: key,
      message: `${message}: it was ${JSON.stringify(before) ?? 'not set'}`,
      value: now,
      hint,
    })),
  );
}

function fixedEntries(config: object): readonly (readonly [string, unknown])[] {
  return Object.entries(config)
    .flatMap(([key, value]): [string, unknown][] => {
      if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
        return Object.entries(value).flatMap(([inner, item]) => settingsAt(`${key}.${inner}`, item));
      }
      return [[key, value]];
    })
    .filter(([key, value]) => value !== undefined && !freeKeys.has(key) && !freeKeys.has(key.split('.')[0]!))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Splits the settings of members, legs and stages' models into one entry per key; omits keys that may change. */
function settingsAt(path: string, value: unknown): [string, unknown][] {
  if (/^\w+\.model$/.test(path) && typeof value === 'object' && value !== null)
    return Object.entries(value)
      .filter(([key]) => !freeKeys.has(`model.${key}`))
      .map(([key, item]): [string, unknown] => [`${path}.${key}`, item]);
  if (!/^model\.(members|relay)$/.test(path) || !Array.isArray(value)) return [[path, value]];
  return value.flatMap((member: object, i) =>
    Object.entries(member)
      .filter(([key]) => !freeKeys.has(`model.${key}`))
      .map(([key, item]): [string, unknown] => [`${path}.${i}.${key}`, item]),
  );
}

/** @throws UserError if the run started with a different config, templates or modules */
export function requireSameSetup(
  assembly: {
    readonly config: object;
    readonly fingerprint: string;
    readonly prompts: { readonly hash: string };
    readonly modules?: ModuleHashes | undefined;
  },
  manifest: Manifest,
  file: string,
): void {
  if (assembly.fingerprint === manifest.fingerprint) return;
  const hint = `undo the change, or ${newStartHints[manifest.play === undefined ? 'run' : 'play']}`;
  const changedFiles = changedModules(manifest.modules ?? {}, assembly.modules ?? {});
  if (changedFiles.length > 0) {
    const message = 'this module has changed since the run started';
    throw new UserError(changedFiles.map((module) => ({ file: module, message, hint })));
  }
  const message = 'this setting has changed since the run started';
  requireSameSettings(manifest.settings, assembly.config, message, hint, file);
  const changedPart = assembly.prompts.hash === manifest.prompts ? 'the config' : 'the prompt templates';
  throw new UserError({ file, message: `${changedPart} of this run changed after it started`, hint });
}

/**
 * True if a limit of its sweep ended the run, and has been raised or removed since.
 * @param limits the limits that the run shares with the other runs of its sweep
 */
export function isSweepLimitRaised(
  { caps, reason }: Pick<Manifest, 'caps' | 'reason'>,
  limits: LimitsConfig | undefined,
): boolean {
  const limit = reason?.kind === 'limit' ? reason.limit : undefined;
  if (limit === undefined || !limit.startsWith('sweep.')) return false;
  const oldCap = caps?.find((usage) => usage.limit === limit)?.cap ?? 0;
  return (limits?.[limit.replace('sweep.limits.', '') as LimitKey] ?? Number.POSITIVE_INFINITY) > oldCap;
}

/**
 * Explains how to continue a finished run; undefined if it isn't finished, or if it can continue with `newConfig`.
 * @param oldConfig the config of the finished run
 * @param sweep the limits that the run shares with the other runs of its sweep
 */
export function continuationHint(
  manifest: Manifest,
  oldConfig: Config,
  newConfig: Config,
  path: string,
  sweep?: LimitsConfig,
): string | undefined {
  const { iterations, reason, status } = manifest;
  if (reason === undefined) return undefined;
  if (status !== 'completed' && reason.kind !== 'no-proposals') return undefined;
  const isSame = (key: 'target' | 'limits') => isDeepStrictEqual(oldConfig[key], newConfig[key]);
  const resumeHint = (override: string) =>
    `to continue, run policyloop resume ${path} ${override}; to regenerate its report, run policyloop report ${path}`;
  const limit = 'limit' in reason ? reason.limit : undefined;
  if (limit === 'rejections')
    return `start a new run with another model or prompt; policyloop show ${path} --iteration 1 shows the replies`;
  if (limit?.startsWith('sweep.'))
    return isSweepLimitRaised(manifest, sweep)
      ? undefined
      : `repeat the sweep's command with a higher ${limit}`;
  if (limit !== undefined)
    return isSame('limits') ? resumeHint(`${limitField(limit)}=… with a higher limit`) : undefined;
  if (reason.kind === 'target')
    return isSame('target') ? resumeHint('target=… with a higher target (or target= for none)') : undefined;
  if (newConfig.iterations > iterations.done) return undefined;
  return resumeHint(`iterations=${2 * iterations.of}`);
}
