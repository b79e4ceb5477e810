import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { assemble } from '../assemble.js';
import type { Config } from '../config.js';
import { UserError } from '../errors.js';
import { changeableKeys, differences, requireSame } from '../fingerprint.js';
import { loadConfig, resolvedYaml } from '../load-config.js';
import type { Manifest } from '../manifest.js';
import { findRun, groupFile, readManifest, resumeRunDirectory, runFiles } from '../run-directory.js';
import type { CommandContext } from '../terminal.js';
import { finishGroup, openGroup } from './repeats.js';
import { finishRun, type OutputArguments } from './single-run.js';

export interface ResumeArguments extends OutputArguments {
  readonly run: string;
  readonly overrides: readonly string[];
  readonly runsDir: string;
}

/** `policyloop resume <run> [key=value…]`. */
export async function resumeCommand(args: ResumeArguments, context: CommandContext): Promise<number> {
  const path = findRun(args.run, resolve(context.cwd, args.runsDir));
  if (existsSync(join(path, groupFile))) {
    const group = openGroup(path, args.overrides);
    writeFileSync(join(path, runFiles.config), resolvedYaml(group.config));
    return finishGroup(group, args, context);
  }
  const file = join(path, runFiles.config);
  const was = loadConfig({ file }).config;
  const { config } = loadConfig({ file, overrides: args.overrides });
  refuseDifferences(was, config);
  const manifest = readManifest(path);
  refuseComplete(manifest, config, path);
  const assembly = await assemble(config, context.env);
  requireSame(assembly, manifest, file);
  const directory = resumeRunDirectory(path, context.now);
  writeFileSync(file, resolvedYaml(assembly.config));
  return finishRun(assembly, directory, args, context);
}

function refuseDifferences(was: Config, config: Config): void {
  const changed = differences(was, config);
  if (changed.length === 0) return;
  throw new UserError(
    changed.map(({ key, was: before, now }) => ({
      field: key,
      message: `can't change within a run: it was ${JSON.stringify(before)}`,
      value: now,
      alternatives: changeableKeys,
      remedy: 'start a new run; warmup.from takes over this one’s replay buffer',
    })),
  );
}

function refuseComplete(manifest: Manifest, config: Config, path: string): void {
  if (manifest.status !== 'completed') return;
  const { reason } = manifest;
  const remedies = {
    iterations: `policyloop resume ${path} iterations=${2 * manifest.iterations.of}`,
    target: `policyloop resume ${path} target=…, or a target.hold`,
    limit: `policyloop resume ${path} with a higher limits.…`,
  };
  if (reason?.kind === 'iterations' && config.iterations <= manifest.iterations.done) {
    throw new UserError({
      message: `this run is complete: ${manifest.iterations.done} iterations`,
      value: path,
      remedy: remedies.iterations,
    });
  }
  if (reason?.kind === 'target' && config.target?.return === reason.return) {
    throw new UserError({
      message: `this run is complete: it reached its target of ${reason.return}`,
      value: path,
      remedy: remedies.target,
    });
  }
}
