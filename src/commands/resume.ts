import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common, withWorkers } from '../command.js';
import { loadConfig, resolvedYaml } from '../config/load.js';
import type { CommandContext } from '../context.js';
import { UserError } from '../errors.js';
import { describeReason } from '../runs/facts.js';
import { findRun } from '../runs/finder.js';
import { refuseDifferences, whatCompletes } from '../runs/fingerprint.js';
import { requireConfig } from '../runs/open-run.js';
import { groupFile, readManifest, runFiles } from '../runs/reader.js';
import { replaceFile } from '../storage/replace-file.js';
import { requireJobs } from '../studies/plan.js';
import { finishGroup } from '../studies/repeats.js';
import { finishRun, openRun } from '../studies/single-run.js';

export const options = (y: Argv) =>
  y
    .positional('run', common.run)
    .positional('overrides', common.overrides)
    .option('runs-dir', common.runsDir)
    .option('workers', common.workers)
    .option('jobs', common.jobs)
    .option('quiet', common.quiet)
    .option('json', common.jsonLines)
    .example('$0 resume buffers/cartpole iterations=200', 'to 200 iterations in all');

type Args = Arguments<typeof options>;

export const finishing = 'finishing the iteration (Ctrl-C again stops at once; nothing recorded is lost)';

/** `policyloop resume <run> [key=value…]`. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  requireJobs(args);
  const path = findRun(args.run, { cwd: context.cwd, runsDir: args.runsDir });
  const file = join(path, runFiles.config);
  const was = loadConfig({ file: requireConfig(file), asWritten: true }).config;
  const { config } = loadConfig({
    file,
    overrides: withWorkers(args.overrides, args.workers),
    cwd: context.cwd,
    asWritten: true,
  });
  refuseDifferences(was, config);
  if (existsSync(join(path, groupFile))) {
    replaceFile(file, resolvedYaml(config));
    return finishGroup(path, config, args, context);
  }
  const opened = await openRun(path, config, context);
  if (opened === undefined) {
    const manifest = readManifest(path);
    throw new UserError({
      message: `this run is complete: ${describeReason(manifest)} after ${manifest.iterations.done} iterations`,
      value: path,
      remedy: whatCompletes(manifest, was, config, path)!,
    });
  }
  return finishRun(opened, args, context);
}
