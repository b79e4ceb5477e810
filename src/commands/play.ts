import type { Argv } from 'yargs';
import { type Arguments, common } from '../base/command.js';
import type { CommandContext } from '../base/context.js';

export const options = (y: Argv) =>
  y
    .positional('config', common.config)
    .positional('overrides', common.overrides)
    .option('run-dir', common.runDir)
    .option('runs-dir', common.runsDir)
    .option('open', common.open)
    .option('quiet', common.quiet)
    .option('json', common.jsonLines)
    .example('$0 play agents/cooking', 'an Ollama model plays games that are never used for training')
    .example('$0 play agents/cooking player=random episodes=100', 'the random baseline')
    .example('$0 play agents/cooking model.name=qwen3:4b policy.history=8', 'with overrides');

export const finishing =
  'stopping after pending replies (press Ctrl-C again to stop immediately; nothing recorded is lost; continue with policyloop resume)';

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  const { playConfig } = await import('../agents/run-play.js');
  return playConfig(args, context);
}
