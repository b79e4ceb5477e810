import type { Argv } from 'yargs';
import { type Arguments, commonOptions } from '../base/command.js';
import type { CommandContext } from '../base/context.js';

export const options = (y: Argv) =>
  y
    .positional('config', commonOptions.config)
    .positional('overrides', commonOptions.overrides)
    .option('run-dir', commonOptions.runDir)
    .option('runs-dir', commonOptions.runsDir)
    .option('open', commonOptions.open)
    .option('quiet', commonOptions.quiet)
    .option('json', commonOptions.jsonLines)
    .example('$0 play agents/cooking', 'an Ollama model plays games that are never used for training')
    .example('$0 play agents/cooking player=random episodes=100', 'the random baseline')
    .example('$0 play agents/cooking model.name=qwen3:4b policy.history=8', 'with overrides');

export const finishingText =
  'stopping after pending replies (press Ctrl-C again to stop immediately; nothing recorded is lost); continue with policyloop resume';

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  const { runPlay } = await import('../agents/run-play.js');
  return runPlay(args, context);
}
