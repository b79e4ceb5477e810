#!/usr/bin/env node
/** The only reader of argv and the environment, and the only setter of the exit code. */
import process from 'node:process';
import { createInterface, type Interface } from 'node:readline';
import { styleText } from 'node:util';
import yargs, { type Argv } from 'yargs';
import { hideBin } from 'yargs/helpers';
import { onAbort } from './base/abortable.js';
import type { Arguments, Command, ListedCommand } from './base/command.js';
import { type CommandContext, exitCodeOfError, exitCodes } from './base/context.js';
import { UserError } from './base/errors.js';
import { overridesApart } from './base/overrides-apart.js';
import { version } from './base/package.js';
import { forStream } from './base/terminal-text.js';
import { commands, completions, declaredOptions, namedCommand } from './commands.js';
import { EnvironmentError } from './environments/remote/remote-environment.js';
import { handInLearning } from './experiment/learning/learner.js';

handInLearning(async () => (await import('../finetune/rl/adapt/learning.js')).learning);

const finish = new AbortController();
const abort = new AbortController();

/** Writes until the reader goes away (`policyloop list | head`): then a run is closed, and nothing more is said. */
function writer(stream: NodeJS.WriteStream): (text: string) => void {
  let open = true;
  stream.on('error', () => {
    open = false;
    finish.abort();
  });
  const isStyled = styleText('bold', '-', { stream }) !== '-';
  return (text) => {
    if (open) stream.write(`${forStream(text, isStyled)}\n`);
  };
}

function createContext(): CommandContext {
  return {
    print: writer(process.stdout),
    note: writer(process.stderr),
    terminal: process.stderr.isTTY ? process.stderr : undefined,
    columns: process.stdout.isTTY ? process.stdout.columns || undefined : undefined,
    env: process.env,
    cwd: process.cwd(),
    words: hideBin(process.argv),
    now: () => new Date(),
    milliseconds: () => performance.now(),
    readLine: process.stdin.isTTY ? readLine : undefined,
    ask: process.stdin.isTTY ? ask : undefined,
    stop: { finish: finish.signal, abort: abort.signal },
  };
}

let typed: Interface | undefined;

/** A person's lines, as long as they are typed. A Ctrl-C ends the input, and then the command. */
function readLine(text: string): Promise<string | undefined> {
  typed ??= createInterface({ input: process.stdin, output: process.stdout });
  const own = typed;
  return new Promise((resolve) => {
    const onClose = () => resolve(undefined);
    own.once('close', onClose);
    own.question(text, (line) => {
      own.off('close', onClose);
      resolve(line);
    });
  });
}

/** One question alone. A Ctrl-C, or the end of the input, is no answer. */
function ask(text: string, withdrawn: AbortSignal): Promise<string | undefined> {
  const own = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    // Whatever ends it gives the terminal back.
    own.once('close', () => resolve(undefined));
    own.question(text, { signal: withdrawn }, (line) => {
      resolve(line);
      own.close();
    });
    onAbort(withdrawn, () => own.close());
  });
}

const context = createContext();

/** Milliseconds in which a command that is told to end closes what it has open. */
const closingMs = 4000;

/**
 * The first Ctrl-C lets a command finish, the second does not. SIGTERM (of `timeout`, systemd, Docker, Slurm) and SIGHUP (of
 * a terminal that closes) are followed by a SIGKILL, or nobody is there any more to wait: they end it at once.
 */
async function execute<T>(command: Command<T>, args: Arguments<unknown, T>): Promise<void> {
  const { finishing } = command;
  if (finishing !== undefined) {
    process.on('SIGINT', () => {
      if (finish.signal.aborted) endNow();
      else {
        context.note(`\n${finishing}`);
        finish.abort();
      }
    });
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        context.note(`\n${signal}: stopping at once`);
        endNow();
      });
    }
  }
  process.exitCode = await command.execute(args, context);
  typed?.close();
}

/** Aborts what is under way. What does not end by that, such as a step of a user's code, is left. */
function endNow(): void {
  finish.abort();
  abort.abort();
  setTimeout(() => {
    context.note('something does not end; leaving it');
    process.exit(exitCodes.interrupted);
  }, closingMs).unref();
}

const red = (text: string) => styleText('red', text, { stream: process.stderr });

function report(error: unknown): number {
  if (error instanceof UserError || error instanceof EnvironmentError) {
    context.note(`${red('error')} ${error.message}`);
  } else if (error instanceof Error && 'syscall' in error && 'code' in error) {
    context.note(
      `${red('error')} the system refused: ${error.message}\n  remedy: ${systemRemedy(String(error.code))}`,
    );
  } else {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    context.note(`${red('unexpected error')} ${text}\nThis is a bug of policyloop.`);
  }
  return exitCodeOfError(error);
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

/** An option that is written `--many-words` stands in argv as `manyWords` too. */
const kebabCase = (key: string) => key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** @throws UserError for an option that is given twice and is no list */
function requireOnce(argv: Readonly<Record<string, unknown>>, options: unknown): true {
  // Those of the command that was given; the types know nothing of them.
  const { array: lists = [] } = options as { readonly array?: readonly string[] };
  const twice = Object.keys(argv).find(
    (key) => key.length > 1 && !lists.includes(kebabCase(key)) && Array.isArray(argv[key]),
  );
  if (twice !== undefined) throw new UserError({ field: `--${twice}`, message: 'give this option once' });
  return true;
}

const misused = (message: string) =>
  new UserError({ message, remedy: 'policyloop --help shows how it is used' });

function addCommand(y: Argv, [signature, describe, load]: ListedCommand): Argv {
  return y.command(
    signature,
    describe,
    async (own) => (await load()).options(own),
    async (args) => execute(await load(), args),
  );
}

function addGroup(y: Argv, name: string, describe: string, group: readonly ListedCommand[]): Argv {
  return y.command(name, describe, (own) =>
    group
      .reduce(addCommand, own.usage(`$0 ${name} <command>`))
      .demandCommand(1, `Name a command; policyloop ${name} --help lists them.`),
  );
}

/** The arguments of this process, with `key=value` where no option takes it. */
async function readArguments(): Promise<readonly string[]> {
  const args = hideBin(process.argv);
  const named = namedCommand(args);
  if (named === undefined || !/\[overrides|<configs/.test(named[0])) return args;
  return overridesApart(args, await declaredOptions(named));
}

/** With it the script of `policyloop completion` asks; the words behind the program's name follow. */
const completionRequest = '--get-yargs-completions';

/** Files are completed where nothing else is known. */
const fishCompletion = `function __policyloop_complete
    set -l current (commandline -ct)
    set -l found (policyloop ${completionRequest} (commandline -opc) "$current")
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c policyloop -f -a '(__policyloop_complete)'`;

/** @throws UserError for a command line that can't be understood */
async function main(): Promise<void> {
  const [first, shell, ...words] = hideBin(process.argv);
  if (first === 'completion' && shell === 'fish') {
    context.print(fishCompletion);
    return;
  }
  // Of commands that are loaded when they are named, yargs would complete no options.
  if (first === completionRequest) {
    for (const word of await completions(words, context.cwd)) context.print(word);
    return;
  }
  await commands
    .reduce(
      (y: Argv, [name, describe, load]) =>
        typeof load === 'function'
          ? addCommand(y, [name, describe, load])
          : addGroup(y, name, describe, load),
      yargs(await readArguments()),
    )
    .scriptName('policyloop')
    .usage('$0 <command>\n\nA language model reads the replay buffer and proposes better policies.')
    .demandCommand(1, 'Name a command; policyloop --help lists them.')
    .completion(
      'completion',
      'Print a script that completes command lines in bash and zsh, or (completion fish) in fish',
    )
    .check(requireOnce)
    .strict()
    .recommendCommands()
    .version(version())
    .help()
    .alias('h', 'help')
    .wrap(Math.min(100, process.stdout.columns || 100))
    .fail((message, error) => {
      throw error ?? misused(message);
    })
    .parseAsync();
}

try {
  await main();
} catch (error) {
  // What yargs finds in the options of a command that is loaded by then, it throws itself.
  const known = error instanceof Error && error.name === 'YError' ? misused(error.message) : error;
  process.exitCode = report(known);
}
