#!/usr/bin/env node
/** The command line: parses the arguments, runs a command and sets the exit code. */
import { fstatSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { createInterface, type Interface } from 'node:readline';
import { isatty } from 'node:tty';
import { format, styleText } from 'node:util';
import yargs, { type Argv } from 'yargs';
import { hideBin } from 'yargs/helpers';
import type { Arguments, Command, ListedCommand } from './base/command.js';
import { type CommandContext, errorExitCode, exitCodes } from './base/context.js';
import { formatProblem, hideSecrets, problemsOf, secretsIn, UserError } from './base/errors.js';
import { keepLocksUntilExit } from './base/files/draft.js';
import { expandHome, requireShortNames } from './base/files/regular-file.js';
import { type DeclaredOptions, moveOverridesFirst } from './base/overrides-apart.js';
import { packageVersion } from './base/package.js';
import { streamText } from './base/terminal-text.js';
import {
  commands,
  declaredOptions,
  findCommand,
  greeting,
  overview,
  shellCompletions,
  takesOverrides,
  usageError,
} from './commands.js';
import { EnvironmentError } from './environments/remote/remote-environment.js';

keepLocksUntilExit();

const finishController = new AbortController();
const abortController = new AbortController();

const secrets = secretsIn(process.env);
const words = hideBin(process.argv);

/** Returns a function that writes lines until a write fails. A reader that stops early (`| head`) isn't an error. */
function writer(stream: NodeJS.WriteStream & { readonly fd: number }, name: string): (text: string) => void {
  let isOpen = true;
  const close = (error: NodeJS.ErrnoException) => {
    const isFirst = isOpen;
    isOpen = false;
    finishController.abort();
    if (error.code === 'EPIPE' || !isFirst) return;
    process.on('exit', () => {
      process.exitCode = exitCodes.failure;
    });
    context.note(
      `${red('error')} can't write the ${name}: ${error.message}\n  hint: ${systemHint(error.code)}`,
    );
  };
  stream.on('error', close);
  const isStyled = styleText('bold', '-', { stream }) !== '-';
  return (text) => {
    if (!isOpen) return;
    const line = `${hideSecrets(streamText(text, isStyled), secrets)}\n`;
    try {
      // For a file, a stream would report success even if the disk has space for only part of the text.
      if (isFileOrDevice(stream.fd)) writeFileSync(stream.fd, line);
      else stream.write(line);
    } catch (error) {
      close(error as NodeJS.ErrnoException);
    }
  };
}

/** True for files and devices such as /dev/null, to which writes are synchronous, but not for terminals and pipes. */
function isFileOrDevice(descriptor: number): boolean {
  const stats = fstatSync(descriptor);
  return stats.isFile() || (stats.isCharacterDevice() && !isatty(descriptor));
}

const context: CommandContext = {
  print: writer(process.stdout, 'output'),
  note: writer(process.stderr, 'error output'),
  terminal: process.stderr.isTTY ? process.stderr : undefined,
  columns: process.stdout.isTTY ? process.stdout.columns || undefined : undefined,
  env: process.env,
  cwd: process.cwd(),
  words,
  now: () => new Date(),
  milliseconds: () => performance.now(),
  readLine: process.stdin.isTTY ? readLine : undefined,
  stop: { finish: finishController.signal, abort: abortController.signal },
};

let lineReader: Interface | undefined;

/** Reads a line from the user; undefined after Ctrl-C or at the end of the input. */
function readLine(text: string): Promise<string | undefined> {
  lineReader ??= createInterface({ input: process.stdin, output: process.stdout });
  const reader = lineReader;
  return new Promise((resolve) => {
    const onClose = () => resolve(undefined);
    reader.once('close', onClose);
    reader.question(text, (line) => {
      reader.off('close', onClose);
      resolve(line);
    });
  });
}

// yargs prints help and version with console.log.
console.log = (...values: unknown[]) => context.print(format(...values));

/** Milliseconds that an aborted command may take to clean up. */
const closingMs = 4000;

/**
 * Runs a command. If it has `finishingText`, the first Ctrl-C stops it after pending work, and the second aborts it.
 * SIGTERM (from `timeout`, systemd, Docker, Slurm) and SIGHUP (from a closed terminal) abort it immediately, because a
 * SIGKILL may follow. A dry run has nothing to finish, so any signal kills it, even while it reads a model.
 */
async function execute<T>(command: Command<T>, args: Arguments<unknown, T>): Promise<void> {
  const finishingText = 'dryRun' in args && args.dryRun === true ? undefined : command.finishingText;
  if (finishingText !== undefined) {
    process.on('SIGINT', () => {
      if (finishController.signal.aborted) abortNow();
      else {
        context.note(`\n${finishingText}`);
        finishController.abort();
      }
    });
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        context.note(`\n${signal}: stopping immediately`);
        abortNow();
      });
    }
  }
  // Users' modules may write to the console, but standard output is for results.
  console.log = (...values: unknown[]) => context.note(format(...values));
  process.exitCode = await command.execute(args, context);
  lineReader?.close();
}

/** Aborts pending work, and exits if something doesn't stop in time, such as a step of user code. */
function abortNow(): void {
  abortController.abort();
  finishController.abort();
  setTimeout(() => {
    context.note("pending work didn't stop in time; exiting anyway");
    process.exit(exitCodes.interrupted);
  }, closingMs).unref();
}

const red = (text: string) => styleText('red', text, { stream: process.stderr });

function reportError(error: unknown): number {
  if (abortController.signal.aborted && error === abortController.signal.reason) return exitCodes.interrupted;
  if (error instanceof UserError || error instanceof EnvironmentError) {
    for (const problem of problemsOf(error)) context.note(`${red('error')} ${formatProblem(problem)}`);
  } else if (error instanceof Error && 'syscall' in error && 'code' in error) {
    context.note(`${red('error')} system error: ${error.message}\n  hint: ${systemHint(String(error.code))}`);
  } else {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    context.note(`${red('unexpected error')} ${text}\nThis is a bug in policyloop.`);
  }
  return errorExitCode(error);
}

const noSpaceHint = 'free some disk space, then repeat the command (for a run: policyloop resume)';
const noPermissionHint = 'check the permissions, or use another directory';

const systemHints: Readonly<Record<string, string>> = {
  ENOSPC: noSpaceHint,
  EDQUOT: noSpaceHint,
  EACCES: noPermissionHint,
  EPERM: noPermissionHint,
  EROFS: noPermissionHint,
  ENAMETOOLONG: 'use a shorter name',
  ENOENT: 'check that this path exists, then repeat the command',
};

const systemHint = (code = ''): string =>
  systemHints[code] ?? 'check this file or directory, then repeat the command (for a run: policyloop resume)';

/** @throws UserError if an option that isn't a list is given twice */
function requireOnce(argv: Readonly<Record<string, unknown>>, options: unknown): true {
  // yargs passes the command's options, but its types don't describe them.
  const { array, key } = options as DeclaredOptions;
  const isRepeated = (name: string) => name.length > 1 && !array.includes(name) && Array.isArray(argv[name]);
  const repeatedOption = Object.keys(key).find(isRepeated);
  if (repeatedOption !== undefined)
    throw new UserError({ field: `--${repeatedOption}`, message: 'this option can be given only once' });
  return true;
}

/** Options that name output files or directories. */
const pathOptions = ['out', 'output', 'run-dir', 'runs-dir', 'html', 'charts', 'picture'];

/** @throws UserError if an output path has a name that is too long, or contains an unexpanded `~` or variable */
function requireValidPaths(argv: Readonly<Record<string, unknown>>): true {
  for (const option of pathOptions)
    if (typeof argv[option] === 'string')
      requireShortNames(expandHome(argv[option], { field: `--${option}` }), { field: `--${option}` });
  return true;
}

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
    group.reduce(addCommand, own.usage(`$0 ${name} <command>`)).demandCommand(1, `${name} needs a command`),
  );
}

/** `~` or `$HOME` at the beginning of an argument or of an option's value; a shell leaves `--out=~/a` unchanged. */
const homePattern = /^(--?[\w-]+=)?((?:~|\$HOME|\$\{HOME\})(?:\/.*)?)$/s;

/**
 * Returns the arguments of this process, with the home directory expanded. If the command accepts `key=value`
 * overrides, moves them to where no option consumes them.
 */
async function readArguments(): Promise<readonly string[]> {
  const command = findCommand(words).command;
  const args = words.map((word) =>
    word.replace(
      homePattern,
      (_, option: string | undefined, path: string) => `${option ?? ''}${expandHome(path, {})}`,
    ),
  );
  if (command === undefined || !takesOverrides(command)) return args;
  return moveOverridesFirst(args, await declaredOptions(command));
}

/** The script that `policyloop completion` prints passes this argument, followed by the words typed so far. */
const completionRequest = '--get-yargs-completions';

/** The completion script for fish; falls back to file names. */
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

async function main(): Promise<void> {
  const [first, shell, ...typedWords] = words;
  if (first === 'completion' && shell === 'fish') {
    context.print(fishCompletion);
    return;
  }
  // yargs can't complete the options of commands that load lazily.
  if (first === completionRequest) {
    for (const word of await shellCompletions(typedWords, context.cwd)) context.print(word);
    return;
  }
  if (first === undefined || first === '--help' || first === '-h') {
    context.print(first === undefined ? greeting : overview());
    process.exitCode = first === undefined ? exitCodes.usage : 0;
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
    .locale('en')
    .demandCommand(1, 'no command')
    .completion('completion', 'Print a completion script for bash and zsh, or for fish (completion fish)')
    .check(requireOnce)
    .check(requireValidPaths)
    .strict()
    .version(packageVersion())
    .help()
    .alias('h', 'help')
    .wrap(Math.min(100, process.stdout.columns || 100))
    .fail((message, error) => {
      throw error ?? Object.assign(new Error(message), { name: 'YError' });
    })
    .parseAsync();
}

try {
  await main();
} catch (error) {
  // Invalid arguments: an error of yargs itself, or one thrown in `fail`.
  const shownError =
    error instanceof Error && error.name === 'YError' ? await usageError(error.message, words) : error;
  process.exitCode = reportError(shownError);
}
