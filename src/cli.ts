#!/usr/bin/env node
/** The only reader of argv and the environment, and the only setter of the exit code. */
import process from 'node:process';
import { styleText } from 'node:util';
import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import { finetuneCommands } from '../finetune/cli.js';
import { compareOptions } from './commands/compare-options.js';
import { controlsOptions } from './commands/controls-options.js';
import { importOptions } from './commands/import-options.js';
import { checkOptions, serveOptions } from './commands/local-model-options.js';
import { renderOptions } from './commands/render-options.js';
import { type CommandContext, exitCodes } from './context.js';
import { EnvironmentError } from './environments/remote/remote-environment.js';
import { UserError } from './errors.js';
import { version } from './package.js';

const finish = new AbortController();
const abort = new AbortController();

/** Writes until the reader goes away (`policyloop list | head`): then a run is closed, and nothing more is said. */
function writer(stream: NodeJS.WriteStream): (text: string) => void {
  let open = true;
  stream.on('error', () => {
    open = false;
    finish.abort();
  });
  return (text) => {
    if (open) stream.write(`${text}\n`);
  };
}

function createContext(): CommandContext {
  return {
    print: writer(process.stdout),
    note: writer(process.stderr),
    terminal: process.stderr.isTTY ? process.stderr : undefined,
    env: process.env,
    cwd: process.cwd(),
    now: () => new Date(),
    milliseconds: () => performance.now(),
    stop: { finish: finish.signal, abort: abort.signal },
  };
}

const context = createContext();

/** Runs a command's module, loaded only now so that `--help` is quick. */
async function run(command: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await command();
  } catch (error) {
    process.exitCode = report(error);
  }
}

/** The same for a command that a signal ends in order. */
function runInterruptible(
  command: () => Promise<number>,
  finishing = 'finishing the iteration (Ctrl-C again stops at once; nothing recorded is lost)',
): Promise<void> {
  const onSignal = () => {
    if (finish.signal.aborted) {
      abort.abort();
      return;
    }
    finish.abort();
    context.note(`\n${finishing}`);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return run(command);
}

const red = (text: string) => styleText('red', text, { stream: process.stderr });

function report(error: unknown): number {
  if (error instanceof UserError) {
    context.note(`${red('error')} ${error.message}`);
    return exitCodes.usage;
  }
  if (error instanceof EnvironmentError) {
    context.note(`${red('error')} ${error.message}`);
    return exitCodes.failure;
  }
  if (error instanceof Error && 'syscall' in error && 'code' in error) {
    context.note(
      `${red('error')} the system refused: ${error.message}\n  remedy: ${systemRemedy(String(error.code))}`,
    );
    return exitCodes.failure;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  context.note(`${red('unexpected error')} ${text}\nThis is a bug of policyloop.`);
  return exitCodes.failure;
}

function systemRemedy(code: string): string {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return 'make room on the disk, then give the same command again (for a run: policyloop resume)';
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return 'use a directory that you may write to';
    case 'ENOENT':
      return 'this was removed while it was needed; start again';
    default:
      return 'check this file or directory, then give the same command again (for a run: policyloop resume)';
  }
}

const json = { type: 'boolean', default: false, describe: 'Print JSON for machines' } as const;
const runsDir = {
  type: 'string',
  default: 'buffers',
  requiresArg: true,
  describe: 'Directory that holds the runs',
} as const;
const runArgument = { type: 'string', demandOption: true, describe: 'Run directory, or its name' } as const;
const workers = {
  type: 'number',
  requiresArg: true,
  describe: 'Threads (of gymnasium:, processes) that play episodes (default: what the config says)',
} as const;
const overrides = {
  type: 'string',
  array: true,
  default: [],
  describe: 'key=value, e.g. model.name=qwen3:8b',
} as const;

/** An option that is written `--many-words` stands in argv as `manyWords` too. */
const kebabCase = (key: string) => key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** `--workers 2` is short for `evaluation.workers=2`. */
function withWorkers<T extends { workers: number | undefined; overrides: readonly string[] }>(args: T): T {
  const { workers: count, overrides: given } = args;
  return count === undefined ? args : { ...args, overrides: [...given, `evaluation.workers=${count}`] };
}

let showModels = () => {};

await yargs(hideBin(process.argv))
  .scriptName('policyloop')
  .usage('$0 <command>\n\nA language model reads the replay buffer and proposes better policies.')
  .command(
    'run <config> [overrides..]',
    'Run an experiment',
    (y) =>
      y
        .positional('config', {
          type: 'string',
          demandOption: true,
          describe: 'Config file, or the name of a ready one',
        })
        .positional('overrides', overrides)
        .option('run-dir', {
          type: 'string',
          requiresArg: true,
          describe: 'Directory of this run (default: a new one below --runs-dir)',
        })
        .option('runs-dir', runsDir)
        .option('dry-run', {
          type: 'boolean',
          default: false,
          describe: 'Check everything, print the resolved config and the first prompt, call nothing',
        })
        .option('workers', workers)
        .option('quiet', { type: 'boolean', default: false, describe: 'No progress' })
        .option('json', { ...json, describe: 'Events as JSON lines; the last line is the result' })
        .example('$0 run quickstart', 'solve CartPole-v1 offline with the embedded model')
        .example('$0 run configs/cartpole-semantic.yaml model.name=qwen3:8b iterations=50', 'with overrides'),
    (args) =>
      runInterruptible(async () =>
        (await import('./commands/run.js')).runCommand(withWorkers(args), context),
      ),
  )
  .command(
    'check <configs..>',
    'Check configs before anything is spent: what can go wrong, what a run will cost',
    (y) =>
      y
        .positional('configs', {
          type: 'string',
          array: true,
          demandOption: true,
          describe: 'Config files or names of ready ones; key=value overrides hold for all of them',
        })
        .option('offline', {
          type: 'boolean',
          default: false,
          describe:
            'Ask no server: neither for its context nor for the one short answer that shows it is there',
        })
        .option('strict', { type: 'boolean', default: false, describe: 'Exit with 2 on warnings too' })
        .option('json', json)
        .example('$0 check configs/*.yaml --offline', 'in CI')
        .example('$0 check cartpole-semantic model.name=qwen3:8b', 'is the model there, does all fit?'),
    (args) =>
      runInterruptible(
        async () => (await import('./commands/check.js')).checkCommand(args, context),
        'stopping',
      ),
  )
  .command(
    'resume <run> [overrides..]',
    'Go on with a run: after a crash, a Ctrl-C, or for more iterations',
    (y) =>
      y
        .positional('run', runArgument)
        .positional('overrides', overrides)
        .option('runs-dir', runsDir)
        .option('workers', workers)
        .option('quiet', { type: 'boolean', default: false, describe: 'No progress' })
        .option('json', { ...json, describe: 'Events as JSON lines; the last line is the result' })
        .example('$0 resume buffers/cartpole iterations=200', 'to 200 iterations in all'),
    (args) =>
      runInterruptible(async () =>
        (await import('./commands/resume.js')).resumeCommand(withWorkers(args), context),
      ),
  )
  .command(
    'import <config> [overrides..]',
    'Write a config of ProPS or LLM-RL-finetune as one of policyloop',
    importOptions,
    (args) => run(async () => (await import('./commands/import.js')).importCommand(args, context)),
  )
  .command(
    'list',
    'List the runs',
    (y) => y.option('runs-dir', runsDir).option('json', json),
    (args) => run(async () => (await import('./commands/list.js')).listCommand(args, context)),
  )
  .command(
    'show <run>',
    'Show a run: learning curve, best evaluations, best policy, usage',
    (y) =>
      y
        .positional('run', runArgument)
        .option('runs-dir', runsDir)
        .option('top', {
          type: 'number',
          requiresArg: true,
          default: 10,
          describe: 'Evaluations in the table',
        })
        .option('json', json),
    (args) => run(async () => (await import('./commands/show.js')).showCommand(args, context)),
  )
  .command(
    'evaluate <run>',
    'Evaluate the best policy of a run on fresh seeds',
    (y) =>
      y
        .positional('run', runArgument)
        .option('runs-dir', runsDir)
        .option('episodes', {
          type: 'number',
          requiresArg: true,
          default: 100,
          describe: 'Number of episodes',
        })
        .option('seed', {
          type: 'number',
          describe: 'Seed of the episodes (default: untouched ones of the run)',
        })
        .option('iteration', {
          type: 'number',
          requiresArg: true,
          describe: 'The best candidate of this iteration instead',
        })
        .option('workers', workers)
        .option('json', json),
    (args) => run(async () => (await import('./commands/evaluate.js')).evaluateCommand(args, context)),
  )
  .command(
    'render <run>',
    'Draw an episode of a policy of a run, as an animated GIF or SVG',
    renderOptions,
    (args) => run(async () => (await import('./commands/render.js')).renderCommand(args, context)),
  )
  .command(
    'report <run>',
    'Write report.html of a run anew',
    (y) => y.positional('run', runArgument).option('runs-dir', runsDir),
    (args) => run(async () => (await import('./commands/report.js')).reportCommand(args, context)),
  )
  .command(
    'compare <runs..>',
    'Compare groups of repeats: intervals, tests, learning curves',
    compareOptions,
    (args) => run(async () => (await import('./commands/compare.js')).compareCommand(args, context)),
  )
  .command(
    'controls <configs..>',
    'Play random search, hill climbing and CMA-ES on many tasks, and print what they reach',
    controlsOptions,
    (args) =>
      runInterruptible(
        async () => (await import('./commands/controls.js')).controlsCommand(args, context),
        'finishing the iteration (the same command goes on; Ctrl-C again stops at once)',
      ),
  )
  .command(
    'environments [id]',
    'List the environments, or explain one',
    (y) => y.positional('id', { type: 'string', describe: 'Environment id' }).option('json', json),
    (args) =>
      run(async () => (await import('./commands/environments.js')).environmentsCommand(args, context)),
  )
  .command(
    'models',
    'Local models: explain what a directory holds, and whether it can be run',
    (y) => {
      const commands = y
        .usage('$0 models <command>')
        .command(
          'check [directory]',
          'Explain a model directory: size, memory, context, template, devices, what is missing',
          checkOptions,
          (args) => run(async () => (await import('./commands/models.js')).checkModelCommand(args, context)),
        );
      showModels = () => commands.showHelp('log');
      return commands;
    },
    () => showModels(),
  )
  .command(
    'serve',
    'Serve a local model as an OpenAI-compatible endpoint, to programs of this machine',
    serveOptions,
    (args) =>
      runInterruptible(
        async () => (await import('./commands/serve.js')).serveCommand(args, context),
        'answering what was asked for (Ctrl-C again stops at once)',
      ),
  )
  .command('finetune', 'Train a local model on logged runs', (y) =>
    finetuneCommands(y, { context, run, runInterruptible }),
  )
  .demandCommand(1, 'Name a command; policyloop --help lists them.')
  .check((argv, options) => {
    // Those of the command that was given; the types know nothing of them.
    const { array: lists = [] } = options as { readonly array?: readonly string[] };
    const twice = Object.keys(argv).find(
      (key) => key.length > 1 && !lists.includes(kebabCase(key)) && Array.isArray(argv[key]),
    );
    if (twice !== undefined) throw new UserError({ field: `--${twice}`, message: 'give this option once' });
    return true;
  })
  .strict()
  .recommendCommands()
  .version(version())
  .help()
  .alias('h', 'help')
  .wrap(Math.min(100, process.stdout.columns ?? 100))
  .fail((message, error) => {
    if (error && error.name !== 'YError') process.exit(report(error));
    context.note(`${red('error')} ${message}\n  remedy: policyloop --help shows how it is used`);
    process.exit(exitCodes.usage);
  })
  .parseAsync();
