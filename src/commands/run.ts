import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds, withWorkers } from '../command.js';
import { type LoadedConfig, loadConfig, resolvedYaml } from '../config/load.js';
import type { CommandContext } from '../context.js';
import { formatProblem, UserError } from '../errors.js';
import { type Assembly, assemble, closeEnvironment } from '../experiment/assemble.js';
import { Prompter } from '../experiment/prompter.js';
import { warningText } from '../format/progress.js';
import { contextOf } from '../preflight/ask-model.js';
import { errorsIn, warningsIn } from '../preflight/findings.js';
import { preflight } from '../preflight/preflight.js';
import { createReplayBuffer } from '../rollout/replay-buffer.js';
import { nothingRecorded } from '../runs/reader.js';
import { claimDirectory } from '../storage/new-directory.js';
import { runName } from '../studies/library-run.js';
import { requireJobs } from '../studies/plan.js';
import { createGroup, finishGroup } from '../studies/repeats.js';
import { beginRun, finishRun } from '../studies/single-run.js';

export const options = (y: Argv) =>
  y
    .positional('config', {
      type: 'string',
      demandOption: true,
      describe: 'Config file, or the name of a ready one',
    })
    .positional('overrides', common.overrides)
    .option('run-dir', {
      ...kinds.text,
      describe: 'Directory of this run (default: a new one below --runs-dir)',
    })
    .option('runs-dir', common.runsDir)
    .option('dry-run', {
      ...kinds.flag,
      describe: 'Check everything, print the resolved config and the first prompt, call nothing',
    })
    .option('workers', common.workers)
    .option('jobs', common.jobs)
    .option('quiet', common.quiet)
    .option('json', common.jsonLines)
    .example('$0 run quickstart', 'solve CartPole-v1 offline with the embedded model')
    .example('$0 run configs/cartpole-semantic.yaml model.name=qwen3:8b iterations=50', 'with overrides');

type Args = Arguments<typeof options>;

export const finishing = 'finishing the iteration (Ctrl-C again stops at once; nothing recorded is lost)';

/** `policyloop run <config>`. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  requireJobs(args);
  const loaded = loadConfig({
    file: args.config,
    overrides: withWorkers(args.overrides, args.workers),
    cwd: context.cwd,
  });
  for (const note of loaded.notes) context.note(note);
  const assembly = await placed(loaded, () => assemble(loaded.config, context.env));
  const { config } = assembly;
  await placed(loaded, () => refuseErrors(assembly, context));
  // Each repeat opens an environment and a model of its own.
  if (args.dryRun || config.repeats > 1) await closeEnvironment(assembly);
  if (args.dryRun) return dryRun(assembly, args.json, context);

  const place = () =>
    args.runDir === undefined
      ? claimDirectory(resolve(context.cwd, args.runsDir), runName(config, args.config, context.now()))
      : resolve(context.cwd, args.runDir);
  // What a run keeps of how its config came about.
  const notes = loaded.imported === undefined ? [] : loaded.notes;
  return placed(loaded, async () => {
    if (config.repeats === 1) {
      return finishRun(await beginRun(assembly, place, context, { notes }), args, context);
    }
    const path = place();
    createGroup(path, config, notes);
    return finishGroup(path, config, args, context);
  });
}

/**
 * Says what may be wrong, before anything is spent. The model is not asked: the run itself will do that.
 * @throws UserError with what can't go well
 */
async function refuseErrors(assembly: Assembly, context: CommandContext): Promise<void> {
  const findings = preflight(assembly, await contextOf(assembly, false));
  const errors = errorsIn(findings);
  if (errors.length > 0) {
    await closeEnvironment(assembly);
    throw new UserError(errors);
  }
  for (const warning of warningsIn(findings)) context.note(warningText(formatProblem(warning)));
}

/** What is wrong with the config is reported where it stands there, also when only the run finds out. */
async function placed<T>(loaded: LoadedConfig, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof UserError ? loaded.locate(error) : error;
  }
}

function dryRun(assembly: Assembly, json: boolean, context: CommandContext): number {
  const { config, environment, family, model, prompts } = assembly;
  const buffer = createReplayBuffer();
  const prompter = new Prompter({
    config,
    environment,
    family,
    prompts,
    buffer,
    recorded: nothingRecorded,
  });
  const messages = prompter.messages(1);
  if (json) {
    context.print(JSON.stringify({ config, model: model.id, parameters: family.parameters, messages }));
    return 0;
  }
  context.print(resolvedYaml(config).trimEnd());
  context.print(`\n# ${environment.id}, ${family.parameters.count} parameters, ${model.id}`);
  for (const { role, content } of messages) context.print(`\n--- ${role} ---\n${content}`);
  return 0;
}
