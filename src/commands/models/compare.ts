/** `policyloop models compare`: several models and baselines propose from the same histories. */
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../../base/command.js';
import { type CommandContext, requireCount } from '../../base/context.js';
import type { StudyRunLine } from '../../studies/display.js';
import type { ModelsSummary } from '../../studies/models/compare-models.js';

export const options = (y: Argv) =>
  y
    .positional('config', {
      ...common.config,
      describe: `${common.config.describe}; defines the task and the prompts of all models`,
    })
    .positional('overrides', {
      ...common.overrides,
      describe: 'key=value, or key=a,b,c for several models: model.path=a.gguf,b.gguf model.name=qwen3:8b',
    })
    .option('histories', {
      ...kinds.number,
      default: 20,
      describe: 'Number of random histories; each model makes one proposal per history',
    })
    .option('from', {
      ...kinds.text,
      describe:
        'Comma-separated run histories to add: RUN for a whole run, RUN@20 for its first 20 iterations',
    })
    .option('baselines', {
      ...kinds.text,
      default: 'random,hill-climb,gp',
      describe: "Comma-separated baselines that propose from the same histories; '' for none",
    })
    .option('replay', { ...kinds.flag, describe: 'Show recorded results without calling a model' })
    .option('out', common.out)
    .option('runs-dir', common.runsDir)
    .option('jobs', common.jobs)
    .option('open', common.open)
    .option('quiet', common.quiet)
    .option('json', common.jsonRuns)
    .example(
      '$0 models compare cartpole-semantic model.path=a.gguf,b.gguf model.name=qwen3:8b --histories 40',
      "two files, and a model of the config's provider",
    )
    .example(
      "$0 models compare cartpole-semantic 'model={provider: ollama, name: qwen3:8b},{provider: local, path: a.gguf}' --from latest@20,latest",
      "models of two providers, also with a run's history",
    );

type Args = Arguments<typeof options>;

/** One line per run, then the results of each model. */
export type Output = StudyRunLine | ModelsSummary;

export const finishing =
  'finishing the proposal (run the same command to continue; press Ctrl-C again to stop immediately)';

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { requireJobs } = await import('../../studies/plan.js');
  requireJobs(args);
  requireCount('--histories', args.histories, 0);
  const { compareModels } = await import('../../studies/models/compare-models.js');
  return compareModels(args, context);
}
