/** `policyloop finetune evaluate`: compares the base model, the tuned model and baselines on the same experiments. */
import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds, studyOptions } from '../../src/base/command.js';
import { type CommandContext, requireCount } from '../../src/base/context.js';

export const options = (y: Argv) =>
  studyOptions(
    y
      .positional('overrides', {
        type: 'string',
        array: true,
        default: [],
        describe: 'Changes to all configs: key=value, e.g. iterations=50 model.temperature=1',
      })
      .option('tuned', {
        ...kinds.text,
        demandOption: true,
        describe:
          'Model to evaluate: a directory (of an adapter, model or training run), a GGUF file, ollama:NAME, openai:NAME, or a baseline',
      })
      .option('base', { ...kinds.text, describe: "Model to compare with (default: the tuned model's base)" })
      .option('configs', {
        ...kinds.text,
        array: true,
        demandOption: true,
        describe: 'Experiments to run with every model: config files, or names of bundled configs',
      })
      .option('baseline', {
        ...kinds.text,
        array: true,
        default: [],
        describe: 'Baseline searches with the same budget, e.g. random hill-climb:sigma=2 cma-es',
      })
      .option('repeats', {
        ...kinds.number,
        default: 10,
        describe: 'Seeds per model and experiment; verdicts need at least 6',
      })
      .option('trained-on', {
        ...kinds.text,
        describe:
          'Environments that the tuned model was trained in: ID,… or none (default: as recorded in its training.json)',
      })
      .option('open', commonOptions.open),
  ).example(
    '$0 finetune evaluate --tuned tuned --configs cartpole-numeric acrobot-numeric --baseline random iterations=50',
    'runs both configs with the tuned model, its base and random search; the same command resumes',
  );

export const finishingText = 'finishing pending work; the same command resumes (Ctrl-C again stops at once)';

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  const { parsePart } = await import('../../src/studies/part.js');
  const part = parsePart(args.part);
  requireCount('--jobs', args.jobs, 1);
  requireCount('--repeats', args.repeats, 1);
  requireCount('--seed', args.seed, 0);
  const { runEvaluation } = await import('../evaluate/run-evaluation.js');
  return runEvaluation({ ...args, part }, context);
}
