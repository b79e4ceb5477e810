import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds } from '../base/command.js';
import { type CommandContext, requireCount } from '../base/context.js';
import { UserError } from '../base/errors.js';

export const options = (y: Argv) =>
  y
    .positional('run', commonOptions.run)
    .option('runs-dir', commonOptions.runsDir)
    .option('top', { ...kinds.number, default: 10, describe: 'Number of evaluations in the table' })
    .option('iteration', {
      ...kinds.number,
      describe: 'Show the prompts, replies and evaluations of this iteration (0: the warm-up)',
    })
    .option('candidate', {
      ...kinds.number,
      describe: 'Show only this candidate of the iteration (numbered from 1)',
    })
    .implies('candidate', 'iteration')
    .option('program', {
      type: 'boolean',
      describe:
        'Print only the source of the best program, or of the one given by --iteration and --candidate',
    })
    .option('game', {
      ...kinds.number,
      describe: 'For an agent run: show the transcript of this game (numbered from 1)',
    })
    .option('json', commonOptions.json)
    .example('$0 show cartpole', 'a run in buffers/, by its name')
    .example('$0 show buffers/cartpole --top 3 --json', 'for scripts')
    .example('$0 show tuned/bandit', 'a training run: progress, results, how to resume')
    .example('$0 show cooking --game 3', 'the transcript of a game')
    .example('$0 show cartpole --iteration 12', 'prompts and replies of an iteration')
    .example('$0 show mountaincar --program > policy.js', 'the best program of a run');

type Args = Arguments<typeof options>;

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { columns, cwd } = context;
  const shown = { top: requireCount('--top', args.top, 1), cwd, columns };
  const { findItem } = await import('../runs/listing/names.js');
  const item = findItem(args.run, { cwd, runsDir: args.runsDir }, ['run', 'training']);
  if (item.kind === 'training') return showTraining(item.path, args, context);
  const game = requireCount('--game', args.game, 1);
  const { isPlay, playOutput } = await import('../agents/played.js');
  if (isPlay(item.path)) {
    context.print(playOutput(item.path, game, args.json, context));
    return 0;
  }
  if (game !== undefined)
    throw new UserError({
      field: '--game',
      value: game,
      message: 'this run has no games; only agent runs (policyloop play) have them',
    });
  const { readShownRun } = await import('../runs/open-run.js');
  const { runFigures, runText } = await import('../web/report/run-text.js');
  const { fitText } = await import('../base/text/width.js');
  const iteration = requireCount('--iteration', args.iteration, 0);
  const candidate = requireCount('--candidate', args.candidate, 1);
  const run = await readShownRun(item.path);
  if (args.program === true) {
    const { findProgram, programModule } = await import('../experiment/programs/program-file.js');
    const program = findProgram(run, iteration, candidate);
    const { candidate: place, iteration: at, program: source } = program;
    const author = `${run.manifest.model} (run ${run.manifest.run}, iteration ${at}, candidate ${place + 1})`;
    context.print(args.json ? JSON.stringify(program) : programModule(source, author, run.environment));
  } else if (iteration !== undefined) {
    const { iterationDetails, iterationText } = await import('../web/report/iteration-text.js');
    const details = iterationDetails(run, iteration, candidate);
    context.print(args.json ? JSON.stringify(details) : iterationText(details));
  } else {
    context.print(args.json ? JSON.stringify(runFigures(run, shown)) : fitText(runText(run, shown), columns));
  }
  // Damaged lines are only found when the run is read.
  for (const fault of run.recorded.faults) context.note(`warning: ${fault}`);
  return 0;
}

async function showTraining(
  path: string,
  { json }: Args,
  { columns, cwd, print }: CommandContext,
): Promise<number> {
  const { readTraining } = await import('../runs/training/trainings.js');
  const { trainingJson, trainingText } = await import('../runs/training/text.js');
  const { fitText } = await import('../base/text/width.js');
  const training = readTraining(path);
  print(json ? JSON.stringify(trainingJson(training, cwd)) : fitText(trainingText(training, cwd), columns));
  return 0;
}
