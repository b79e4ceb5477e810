import { basename, extname, resolve } from 'node:path';
import { type Assembly, assemble } from '../assemble.js';
import type { Config } from '../config.js';
import { absolutePaths } from '../config-paths.js';
import { UserError } from '../errors.js';
import { type LoadedConfig, loadConfig, resolvedYaml } from '../load-config.js';
import { createPrompter } from '../prompter.js';
import { createReplayBuffer } from '../replay-buffer.js';
import { freeDirectory, nothingRecorded } from '../run-directory.js';
import type { CommandContext } from '../terminal.js';
import { createGroup, finishGroup } from './repeats.js';
import { finishRun, startRun } from './single-run.js';

export interface RunArguments {
  readonly config: string;
  readonly overrides: readonly string[];
  readonly runDir?: string | undefined;
  readonly runsDir: string;
  readonly dryRun: boolean;
  readonly quiet: boolean;
  readonly json: boolean;
}

/** `policyloop run <config>`. What is wrong with the config is reported where it stands there, whenever it shows. */
export async function runCommand(args: RunArguments, context: CommandContext): Promise<number> {
  const loaded = loadConfig({ file: args.config, overrides: args.overrides });
  for (const note of loaded.notes) context.note(note);
  try {
    return await runLoaded(loaded, args, context);
  } catch (error) {
    throw error instanceof UserError ? loaded.locate(error) : error;
  }
}

async function runLoaded(loaded: LoadedConfig, args: RunArguments, context: CommandContext): Promise<number> {
  const assembly = await assemble(absolutePaths(loaded.config, loaded.file, context.cwd), context.env);
  const { config } = assembly;
  if (args.dryRun) return dryRun(assembly, context);

  const path =
    args.runDir === undefined
      ? freeDirectory(resolve(context.cwd, args.runsDir), runName(args.config, config, context.now()))
      : resolve(context.cwd, args.runDir);
  if (config.repeats > 1) return finishGroup(createGroup(path, config), args, context);
  return finishRun(assembly, startRun(assembly, path, context), args, context);
}

/** `<config's name>-<date>-<time>`, UTC. */
function runName(file: string, config: Config, now: Date): string {
  const stem = config.name ?? basename(file, extname(file)).replaceAll(/[^A-Za-z0-9._-]+/g, '-');
  const [date, time] = now.toISOString().split('T') as [string, string];
  return `${stem}-${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}`;
}

function dryRun(assembly: Assembly, context: CommandContext): number {
  const { config, environment, family, model, prompts } = assembly;
  context.print(resolvedYaml(config).trimEnd());
  context.print(`\n# ${environment.id}, ${family.parameters.count} parameters, ${model.id}`);
  const buffer = createReplayBuffer(assembly.imported);
  const prompter = createPrompter({
    config,
    environment,
    family,
    prompts,
    buffer,
    recorded: nothingRecorded,
  });
  for (const { role, content } of prompter.messages(1)) context.print(`\n--- ${role} ---\n${content}`);
  return 0;
}
