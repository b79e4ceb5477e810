#!/usr/bin/env node
/** The only reader of argv and the environment, and the only setter of the exit code. */
import process from 'node:process';
import { styleText } from 'node:util';
import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import { UserError } from './errors.js';
import { type CommandContext, exitCodes } from './terminal.js';
import { version } from './version.js';

/** What is said at the first Ctrl-C. */
let finishing = 'finishing the iteration (Ctrl-C again stops at once; nothing recorded is lost)';

function createContext(): CommandContext {
  const finish = new AbortController();
  const abort = new AbortController();
  const note = (text: string) => process.stderr.write(`${text}\n`);
  const onSignal = () => {
    if (finish.signal.aborted) {
      abort.abort();
      return;
    }
    finish.abort();
    note(`\n${finishing}`);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  // A closed pipe (`policyloop list | head`) is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  return {
    print: (text) => process.stdout.write(`${text}\n`),
    note,
    terminal: process.stderr.isTTY ? process.stderr : undefined,
    env: process.env,
    cwd: process.cwd(),
    now: () => new Date(),
    stop: { finish: finish.signal, abort: abort.signal },
  };
}

const context = createContext();

/** Runs a command's module, loaded only now so that `--help` is quick. */
function run(command: () => Promise<number>): Promise<void> {
  return command().then(
    (code) => {
      process.exitCode = code;
    },
    (error: unknown) => {
      process.exitCode = report(error);
    },
  );
}

function report(error: unknown): number {
  if (error instanceof UserError) {
    context.note(`${styleText('red', 'error')} ${error.message}`);
    return exitCodes.usage;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  context.note(`${styleText('red', 'unexpected error')} ${text}\nThis is a bug of policyloop.`);
  return exitCodes.failure;
}

/** Set as soon as the subcommands are known. */
let showModels = () => {};

const json = { type: 'boolean', default: false, describe: 'Print JSON for machines' } as const;
const runsDir = { type: 'string', default: 'buffers', describe: 'Directory that holds the runs' } as const;
const runArgument = { type: 'string', demandOption: true, describe: 'Run directory, or its name' } as const;
const overrides = {
  type: 'string',
  array: true,
  default: [],
  describe: 'key=value, e.g. model.name=qwen3:8b',
} as const;

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
          describe: 'Directory of this run (default: a new one below --runs-dir)',
        })
        .option('runs-dir', runsDir)
        .option('dry-run', {
          type: 'boolean',
          default: false,
          describe: 'Check everything, print the resolved config and the first prompt, call nothing',
        })
        .option('quiet', { type: 'boolean', default: false, describe: 'No progress' })
        .option('json', { ...json, describe: 'Events as JSON lines; the last line is the result' })
        .example('$0 run quickstart', 'solve CartPole-v1 offline with a control')
        .example('$0 run configs/cartpole-semantic.yaml model.name=qwen3:8b iterations=50', 'with overrides'),
    (args) => run(async () => (await import('./commands/run.js')).runCommand(args, context)),
  )
  .command(
    'resume <run> [overrides..]',
    'Go on with a run: after a crash, a Ctrl-C, or for more iterations',
    (y) =>
      y
        .positional('run', runArgument)
        .positional('overrides', overrides)
        .option('runs-dir', runsDir)
        .option('quiet', { type: 'boolean', default: false, describe: 'No progress' })
        .option('json', { ...json, describe: 'Events as JSON lines; the last line is the result' })
        .example('$0 resume buffers/cartpole iterations=200', 'to 200 iterations in all'),
    (args) => run(async () => (await import('./commands/resume.js')).resumeCommand(args, context)),
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
        .option('top', { type: 'number', default: 10, describe: 'Evaluations in the table' })
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
        .option('episodes', { type: 'number', default: 100, describe: 'Number of episodes' })
        .option('seed', {
          type: 'number',
          describe: 'Seed of the episodes (default: untouched ones of the run)',
        })
        .option('iteration', { type: 'number', describe: 'The best candidate of this iteration instead' })
        .option('json', json),
    (args) => run(async () => (await import('./commands/evaluate.js')).evaluateCommand(args, context)),
  )
  .command(
    'report <run>',
    'Write report.html of a run anew',
    (y) => y.positional('run', runArgument).option('runs-dir', runsDir),
    (args) => run(async () => (await import('./commands/report.js')).reportCommand(args, context)),
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
    'Local models: what a directory holds, and whether it can be run',
    (y) => {
      const commands = y.usage('$0 models <command>').command(
        'check <directory>',
        'Explain a model directory: size, memory, context, template, devices, what is missing',
        (check) =>
          check
            .positional('directory', {
              type: 'string',
              demandOption: true,
              describe: 'Directory of a Hugging Face model',
            })
            .option('quantization', {
              type: 'string',
              describe: 'Measure what int8 or int4 weights lose',
            })
            .option('json', json)
            .example('$0 models check models/Qwen2.5-0.5B-Instruct --quantization int4', ''),
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
    (y) =>
      y
        .option('model', {
          type: 'string',
          demandOption: true,
          describe: 'Directory of a Hugging Face model',
        })
        .option('port', { type: 'number', default: 8000, describe: 'Port, 0 for any free one' })
        .option('host', { type: 'string', default: '127.0.0.1', describe: '127.0.0.1 or ::1' })
        .option('device', {
          type: 'string',
          default: 'auto',
          describe: 'auto, cpu, cuda, webgpu, dml or coreml',
        })
        .option('quantization', { type: 'string', default: 'none', describe: 'none, int8 or int4' })
        .option('threads', { type: 'number', describe: 'Processor threads (default: the free cores)' })
        .option('context-tokens', {
          type: 'number',
          describe: "Longest prompt and answer together (default: the model's own)",
        })
        .option('template', {
          type: 'string',
          array: true,
          default: [],
          describe: 'name=value for the chat template, e.g. enable_thinking=false',
        })
        .option('json', { ...json, describe: 'One JSON line when it is ready' }),
    (args) => {
      finishing = 'answering what was asked for (Ctrl-C again stops at once)';
      return run(async () => (await import('./commands/serve.js')).serveCommand(args, context));
    },
  )
  .demandCommand(1, 'Name a command; policyloop --help lists them.')
  .strict()
  .recommendCommands()
  .version(version())
  .help()
  .alias('h', 'help')
  .wrap(Math.min(100, process.stdout.columns ?? 100))
  .fail((message, error) => {
    if (error) throw error;
    context.note(`${styleText('red', 'error')} ${message}\n  remedy: policyloop --help shows how it is used`);
    process.exit(exitCodes.usage);
  })
  .parseAsync();
