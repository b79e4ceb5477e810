import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../base/errors.js';
import type { Config } from '../config/config.js';
import { loadConfig } from '../config/load.js';
import { returnRange } from '../environments/catalogue/known-bounds.js';
import { makeEnvironment } from '../environments/catalogue/open.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import { openPolicyFamily } from '../policies/families.js';
import type { PolicyFamily } from '../policies/policy.js';
import type { PolicyConfig } from '../policies/settings.js';
import { clipped } from '../statistics/bootstrap.js';
import type { RecordedRun } from './logs.js';
import type { Manifest } from './manifest.js';
import { openLogs, readManifest, runFiles } from './reader.js';

/** A run, read to be looked at. */
export interface OpenedRun {
  readonly path: string;
  readonly manifest: Manifest;
  readonly config: Config & { readonly policy: PolicyConfig };
  readonly environment: EnvironmentSpec;
  readonly family: PolicyFamily;
  readonly recorded: RecordedRun;
}

/** @throws UserError when a run has lost its config. */
export function requireConfig(file: string): string {
  if (existsSync(file)) return file;
  throw new UserError({
    file,
    message: 'this run has lost its config',
    remedy: 'restore it from a copy, or write the config that it ran with',
  });
}

/**
 * Reads the run at `path`, and makes its policies again.
 * @param tolerant see `openLogs`
 */
export async function readWholeRun(path: string, tolerant = false): Promise<OpenedRun> {
  return { ...(await readRunFrame(path)), recorded: openLogs(path, tolerant) };
}

/**
 * What a run is, without its logs.
 * @param openFamily makes its policies; the default imports those of a module
 */
export async function readRunFrame(
  path: string,
  openFamily: typeof openPolicyFamily = openPolicyFamily,
): Promise<Omit<OpenedRun, 'recorded'>> {
  const manifest = readManifest(path);
  if (manifest.play !== undefined)
    throw new UserError({
      message: 'these are games of an agent: there is no policy of numbers in them',
      value: path,
      remedy:
        'policyloop show, report, resume and compare take them; policyloop play with another seed plays more',
    });
  const { config } = loadConfig({ file: requireConfig(join(path, runFiles.config)), asWritten: true });
  const environment = await environmentOf(manifest, config);
  const { policy } = config;
  if (policy === undefined) {
    throw new UserError({
      file: join(path, runFiles.config),
      field: 'policy',
      message: 'the config of a run names its policy',
    });
  }
  const family = await openFamily(policy, environment);
  const within = withinReturns(manifest, config);
  return { path, manifest: within, config: { ...config, policy }, environment, family };
}

/** Its intervals end where returns do: earlier versions wrote them as they were computed. */
function withinReturns(manifest: Manifest, { environment, evaluation }: Config): Manifest {
  const range = returnRange(environment, evaluation);
  const confirmations = manifest.confirmations.map((confirmation) => ({
    ...confirmation,
    ci95: clipped(confirmation.ci95, range, confirmation.mean),
  }));
  return { ...manifest, confirmations };
}

/** Made again where it is built in, as it was recorded where it is not. */
async function environmentOf(
  { environment: id, spec }: Manifest,
  { environment }: Config,
): Promise<EnvironmentSpec> {
  return spec === undefined ? makeEnvironment(environment.id, environment.options) : { ...spec, id };
}
