/** All commands (including `finetune`), the overview printed by `--help`, and shell completion. */
import yargs from 'yargs';
import { finetuneCommands } from '../finetune/cli.js';
import { type Arguments, commonOptions, type ListedCommand } from './base/command.js';
import type { CommandContext } from './base/context.js';
import { closestMatch, UserError } from './base/errors.js';
import type { DeclaredOptions } from './base/overrides-apart.js';
import type { ConfigKindName } from './config/file.js';
import type { LoadedCommand } from './mcp/serve-mcp.js';

type Group = readonly [name: string, describe: string, commands: readonly ListedCommand[]];

/** Supplies `extra` as the third argument of a command's `execute`. */
const withExtraArgument = <Options, Extra>(
  {
    execute,
    ...command
  }: {
    readonly options: Options;
    readonly finishingText?: string;
    readonly execute: (args: Arguments<Options>, context: CommandContext, extra: Extra) => Promise<number>;
  },
  extra: Extra,
) => ({
  ...command,
  execute: (args: Arguments<Options>, context: CommandContext) => execute(args, context, extra),
});

/** Loads the functions that render the pages of fine-tuning evaluations. */
const loadEvaluationPages = async () => (await import('../finetune/evaluate/shown-pages.js')).pageBuilders;

/** Commands under their headings in `policyloop --help`. A command's file is loaded only when it is used. */
const sections: readonly (readonly [heading: string, commands: readonly (ListedCommand | Group)[]])[] = [
  [
    'Run experiments',
    [
      ['run <config> [overrides..]', 'Run an experiment', () => import('./commands/run.js')],
      [
        'check [configs..]',
        'Check configs and estimate their calls, tokens and cost; without configs, check the setup',
        async () =>
          withExtraArgument(
            await import('./commands/check.js'),
            (await import('../finetune/rl/kinds/kinds.js')).checkConfigByKind,
          ),
      ],
      [
        'resume <run> [overrides..]',
        'Resume a run after a crash or a stop, or extend it',
        () => import('./commands/resume.js'),
      ],
      [
        'sweep <config> [overrides..]',
        'Vary settings over many runs, and measure their effects',
        () => import('./commands/sweep.js'),
      ],
      [
        'play <config> [overrides..]',
        'Play games with a language model, an expert or a random player',
        () => import('./commands/play.js'),
      ],
    ],
  ],
  [
    'View results',
    [
      ['list [filters..]', 'List runs and training runs', () => import('./commands/list.js')],
      [
        'show <run>',
        'Show a run: learning curve, best evaluations, best policy or program, usage',
        () => import('./commands/show.js'),
      ],
      [
        'view [dir]',
        'Serve a live view of runs, training runs and games, to open in a browser',
        async () => withExtraArgument(await import('./commands/view.js'), await loadEvaluationPages()),
      ],
      [
        'compare <runs..>',
        'Compare groups of runs: intervals, tests, learning curves',
        () => import('./commands/compare.js'),
      ],
      [
        'evaluate <run>',
        "Evaluate a run's best policy, or a program, on fresh seeds",
        () => import('./commands/evaluate.js'),
      ],
      [
        'audit <sources..>',
        'Replay the policies of runs or records: which best results are real, and which are luck?',
        () => import('./commands/audit.js'),
      ],
      ['report <run>', "Regenerate a run's report.html", () => import('./commands/report.js')],
      [
        'export <runs..>',
        'Export runs as tables (CSV, Parquet), curves (TensorBoard) or charts (SVG)',
        async () => withExtraArgument(await import('./commands/runs/export.js'), await loadEvaluationPages()),
      ],
    ],
  ],
  [
    'Manage runs',
    [
      ['stop <runs..>', 'Stop runs; they can be resumed', () => import('./commands/runs/stop.js')],
      ['tag <run> [tags..]', 'Tag a run, or remove its tags', () => import('./commands/runs/tag.js')],
      ['remove <runs..>', 'Delete runs', () => import('./commands/runs/remove.js')],
    ],
  ],
  [
    'Models and training',
    [
      [
        'models',
        'Check and download models',
        [
          [
            'check [directory]',
            'Describe a model: size, memory, context, template, devices and problems',
            () => import('./commands/models/check.js'),
          ],
          [
            'pull <model>',
            'Download a model into the Hugging Face cache',
            () => import('./commands/models/pull.js'),
          ],
        ],
      ],
      ['finetune', 'Train, evaluate and export local models', finetuneCommands],
    ],
  ],
  [
    'Set up and connect',
    [
      ['environments [id]', 'List environments, or describe one', () => import('./commands/environments.js')],
      [
        'init <kind> <file>',
        'Write a template for your own environment, policy, model, reward or prompts',
        () => import('./commands/init.js'),
      ],
      [
        'import <config> [overrides..]',
        'Convert a config from ProPS or LLM-RL-finetune',
        () => import('./commands/import.js'),
      ],
      [
        'mcp',
        'Serve runs, comparisons and checks to assistants (Model Context Protocol)',
        async () => withExtraArgument(await import('./commands/mcp.js'), loadCommand),
      ],
    ],
  ],
];

const nameOf = (signature: string) => signature.split(' ')[0]!;

export const commands = sections.flatMap(([, listed]) => listed);

export function overview(): string {
  const blocks = sections.map(([heading, listed]) => {
    const lines = listed.map(([signature, describe]) => `  ${nameOf(signature).padEnd(14)}${describe}`);
    return [`${heading}:`, ...lines].join('\n');
  });
  return [
    'policyloop <command>',
    'Improve policies with a language model, which reads the results so far and proposes better ones.',
    ...blocks,
    'Shell completion: policyloop completion (bash, zsh) or policyloop completion fish.\n' +
      'Arguments, options and examples of a command: policyloop <command> --help. Version: policyloop --version.',
  ].join('\n\n');
}

/** Output of `policyloop` without arguments. */
export const greeting = `policyloop: improve policies with a language model.

  policyloop run quickstart   solve CartPole-v1 offline, with the embedded model
  policyloop show latest      see what happened
  policyloop check            check your setup
  policyloop run cartpole-semantic model.name=qwen3:8b
                              use your own model, here one served by Ollama
  policyloop --help           list all commands`;

/** Loads a command, such as `models check`, with the defaults of its arguments. */
export async function loadCommand(words: string): Promise<LoadedCommand> {
  const command = findCommand(words.split(' ')).command!;
  const { boolean, default: defaults } = await declaredOptions(command);
  const flags = boolean.map((name) => [name, false] as const);
  return {
    command: await command[2](),
    defaults: Object.fromEntries(
      [...flags, ...Object.entries(defaults)].map(([name, value]) => [camelCase(name), value]),
    ),
  };
}

const camelCase = (name: string) => name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Maps the path of each command (`run`, `models check`) to the command, and the path of a group to undefined. */
const commandByPath: ReadonlyMap<string, ListedCommand | undefined> = new Map(
  commands.flatMap(([signature, describe, load]): (readonly [string, ListedCommand | undefined])[] =>
    typeof load === 'function'
      ? [[nameOf(signature), [signature, describe, load]]]
      : [[signature, undefined], ...load.map((own) => [`${signature} ${nameOf(own[0])}`, own] as const)],
  ),
);

/** Finds the command or group that the first words name; `path` contains these words, and is empty if none is named. */
export function findCommand([first = '', second]: readonly string[]) {
  const path = [`${first} ${second}`, first].find((words) => commandByPath.has(words)) ?? '';
  return { path, command: commandByPath.get(path) };
}

/** True if the command accepts overrides, either after a config or run or, like `check`, among its configs. */
export const takesOverrides = ([signature]: ListedCommand) => /\[overrides|[<[]configs/.test(signature);

/** Returns the path of the command or group most like `typed`, if any is similar: `finetune train` for `trian`. */
function nearestCommand(typed: string): string | undefined {
  const paths = [...commandByPath.keys()];
  const word = /^(rm|del|delete)$/.test(typed) ? 'remove' : typed;
  const near = closestMatch(word, [...paths, ...paths.map((path) => path.split(' ').at(-1)!)]);
  return paths.find((path) => path === near || path.endsWith(` ${near}`));
}

/** Returns a command's first example that contains `word`; if none does, its first example. */
async function exampleOf([, , load]: ListedCommand, word = ''): Promise<string> {
  const { options } = await load();
  const help = await options(yargs([]).scriptName('policyloop').locale('en').wrap(null)).getHelp();
  const examples = help.slice(help.indexOf('Examples:')).split('\n').slice(1);
  return (examples.find((line) => line.includes(word)) ?? examples[0]!).trim().split(/ {2,}/)[0]!;
}

/**
 * Returns the error for an invalid command line; its hint says what to write instead.
 * @param message the message from yargs
 */
export async function usageError(message: string, words: readonly string[]): Promise<UserError> {
  const { command, path } = findCommand(words);
  const seeHint = ['see policyloop', path, '--help'].filter((part) => part !== '').join(' ');
  const [, argument, given, values = ''] = /Argument: (.*), Given: "(.*)", Choices: (.*)/.exec(message) ?? [];
  const alternatives = values.split(', ').map((value) => value.slice(1, -1));
  const error = (problem: string, instead: string, near?: string) =>
    new UserError({
      message: problem,
      near,
      hint: near === undefined ? `${instead}${seeHint}` : seeHint,
      ...(given && { alternatives }),
    });
  if (command === undefined) {
    const typed = words.slice(0, path === '' ? 1 : 2).join(' ');
    const isUnknown = typed !== path && !/(^| )-/.test(typed);
    return isUnknown ? error(`unknown command: ${typed}`, '', nearestCommand(typed)) : error(message, '');
  }
  const [, ...positionals] = command[0].split(' ');
  const known = [...(await optionsOf(command)), 'help', 'version'];
  const optionName = (word: string) => /^--(?:no-)?(\w[^=]*)/.exec(word)?.[1] ?? 'help';
  const unknownOption = words.find((word) => !known.map(camelCase).includes(camelCase(optionName(word))));
  const [key, value = 'VALUE'] = unknownOption?.slice(2).split('=') ?? [];
  const problem = message
    .replace(/^Invalid values:.*/s, `unknown ${argument}: ${given}`)
    .replace(/^Not enough .* got (\d).*/, (_, given: string) => `missing: ${positionals[Number(given)]}`)
    .replace(/^Not enough arguments following: /, 'this option needs a value: --')
    .replace(
      /^Missing required arguments?: (.*)/,
      (_, all: string) => `missing: --${all.replaceAll(', ', ', --')}`,
    )
    .replace(/^U/, 'u');
  // Users often write --iterations 50 instead of iterations=50.
  const isKey = key !== undefined && takesOverrides(command);
  const isExperiment = !/^(play|finetune)/.test(path);
  const issue = isKey && isExperiment ? (await import('./config/load.js')).unknownKeyHint(key) : undefined;
  const keyHint = isKey && !issue ? `for a config key, write ${key}=${value} without dashes` : issue?.hint;
  const pair = /^Unknown argument: ([\w.]+=.+)/.exec(message)?.[1];
  const runHint = pair && `config keys follow a config, as in policyloop run CONFIG ${pair}`;
  const advice = runHint ?? keyHint ?? `write, for example, ${await exampleOf(command, key ?? words.at(-1))}`;
  const usage = ['usage: policyloop', path, ...positionals].join(' ');
  const option = unknownOption && closestMatch(optionName(unknownOption), known);
  const near = option ? `--${option}` : (issue?.near ?? (given && closestMatch(given, alternatives)));
  return error(`${key ? `unknown option: --${key}` : problem}; ${usage}`, `${advice}; `, near);
}

/** Returns the names of a command's options, without its positional arguments. */
async function optionsOf(command: ListedCommand): Promise<readonly string[]> {
  const positionals = command[0].split(' ').map((place) => place.replaceAll(/[^\w-]/g, ''));
  return Object.keys((await declaredOptions(command)).key).filter((option) => !positionals.includes(option));
}

export async function declaredOptions([, , load]: ListedCommand): Promise<DeclaredOptions> {
  const declared = (await load()).options(yargs([])) as unknown as { getOptions(): DeclaredOptions };
  return declared.getOptions();
}

/** Kinds of bundled configs that completion offers for a command; for all other commands, `experiment`. */
const kindsByCommand: Readonly<Record<string, readonly ConfigKindName[]>> = {
  play: ['agents'],
  check: ['experiment', 'rl'],
  train: ['training'],
  rl: ['rl'],
};

/**
 * Returns completions of the last word of a command line: commands, options, runs or bundled configs; none for files,
 * which the shell completes.
 * @param words after the program's name; the last may be empty
 */
export async function shellCompletions(words: readonly string[], cwd: string): Promise<readonly string[]> {
  const current = words.at(-1) ?? '';
  const matches = (all: readonly string[]) => all.filter((text) => text.startsWith(current));
  const namesOf = (listed: readonly (readonly [string, ...unknown[]])[]) =>
    matches(listed.map(([signature]) => nameOf(signature)));
  if (words.length < 2) return namesOf([...commands, ['completion']]);
  const group = commands.find(([name]) => name === words[0])?.[2];
  if (typeof group === 'object' && words.length < 3) return namesOf(group);
  const command = findCommand(words).command;
  if (command === undefined) return [];
  const [name, ...positionals] = command[0].split(' ');
  if (current.startsWith('-')) return matches((await optionsOf(command)).map((option) => `--${option}`));
  const before = words.slice(typeof group === 'object' ? 2 : 1, -1);
  const at = before.filter((word, i) => !word.startsWith('-') && !before[i - 1]?.startsWith('--')).length;
  const positional = positionals[at] ?? (positionals.at(-1)?.includes('..') ? positionals.at(-1) : undefined);
  if (/^[<[]runs?\b/.test(positional ?? '')) {
    const { runNames } = await import('./runs/listing/names.js');
    const runsDir = words.includes('--runs-dir') ? words[words.indexOf('--runs-dir') + 1] : undefined;
    return matches(runNames({ cwd, runsDir: runsDir || commonOptions.runsDir.default }));
  }
  if (/^[<[]configs?\b/.test(positional ?? '')) {
    const { bundledConfigs } = await import('./config/file.js');
    return matches((kindsByCommand[name!] ?? ['experiment']).flatMap((kind) => bundledConfigs(kind)));
  }
  return [];
}
