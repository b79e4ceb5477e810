/** The table of commands, here and in `finetune/`, and what a shell completes of a command line. */
import yargs from 'yargs';
import { finetuneCommands } from '../finetune/cli.js';
import { common, type ListedCommand } from './base/command.js';
import type { CommandContext } from './base/context.js';
import type { DeclaredOptions } from './base/overrides-apart.js';
import type { ConfigKindName } from './config/file.js';
import type { Loaded } from './mcp/serve-mcp.js';

/** Commands, or groups of them, as `--help` lists them. A file is loaded when its command is named. */
export const commands: readonly (ListedCommand | readonly [string, string, readonly ListedCommand[]])[] = [
  ['run <config> [overrides..]', 'Run an experiment', () => import('./commands/run.js')],
  [
    'check <configs..>',
    'Check configs before anything is spent: what can go wrong, what a run will cost',
    async () => {
      const { execute: check, finishing, options } = await import('./commands/check.js');
      const { checkLearning } = await import('../finetune/rl/check/check-learning.js');
      return {
        ...{ finishing, options },
        execute: (args: Parameters<typeof check>[0], given: CommandContext) =>
          check(args, given, checkLearning),
      };
    },
  ],
  [
    'resume <run> [overrides..]',
    'Go on with a run: after a crash, a Ctrl-C, or for more iterations',
    () => import('./commands/resume.js'),
  ],
  [
    'play <config> [overrides..]',
    'Let an agent play: a language model in the policy, an expert, chance, or you',
    () => import('./commands/play.js'),
  ],
  [
    'import <config> [overrides..]',
    'Write a config of ProPS or LLM-RL-finetune as one of policyloop',
    () => import('./commands/import.js'),
  ],
  [
    'init <kind> <file>',
    'Write a template of a module of your own: an environment, a policy, a model, a reward or helpers',
    () => import('./commands/init.js'),
  ],
  ['list [filters..]', 'List the runs and trainings: all, or some', () => import('./commands/list.js')],
  [
    'show <run>',
    'Show a run: learning curve, best evaluations, best policy, usage',
    () => import('./commands/show.js'),
  ],
  [
    'evaluate <run>',
    'Evaluate the best policy of a run on fresh seeds',
    () => import('./commands/evaluate.js'),
  ],
  [
    'render <run>',
    'Draw an episode of a policy of a run, as an animated GIF or SVG',
    () => import('./commands/render.js'),
  ],
  ['report <run>', 'Write report.html of a run anew', () => import('./commands/report.js')],
  [
    'view [dir]',
    'Look at runs, trainings and games in a browser, live while they go on',
    async () => {
      const { execute: view, finishing, options } = await import('./commands/view.js');
      const { shownTraining } = await import('../finetune/rl/pages/shown-training.js');
      return {
        ...{ finishing, options },
        execute: (args: Parameters<typeof view>[0], given: CommandContext) =>
          view(args, given, shownTraining),
      };
    },
  ],
  [
    'compare <runs..>',
    'Compare groups of repeats: intervals, tests, learning curves',
    () => import('./commands/compare.js'),
  ],
  [
    'query <sql> [runs..]',
    'Ask runs, evaluations, episodes, calls and steps by SQL',
    () => import('./commands/runs/query.js'),
  ],
  [
    'export <runs..>',
    'Write runs, evaluations, episodes and calls as CSV or Parquet',
    () => import('./commands/runs/export.js'),
  ],
  ['pause <runs..>', 'Let a run that is played wait', () => import('./commands/runs/pause.js')],
  [
    'stop <runs..>',
    'End a run that is played, so that it can go on later',
    () => import('./commands/runs/stop.js'),
  ],
  [
    'set <run> [overrides..]',
    'Change limits, iterations or target of a run that is played',
    () => import('./commands/runs/set.js'),
  ],
  ['tag <run> [tags..]', 'Tag runs, to find them again', () => import('./commands/runs/tag.js')],
  ['note <run> [text]', 'Note something of a run', () => import('./commands/runs/note.js')],
  ['remove [runs..]', 'Move runs into the trash', () => import('./commands/runs/remove.js')],
  [
    'controls <configs..>',
    'Play random search, hill climbing and CMA-ES on many tasks, and print what they reach',
    () => import('./commands/controls.js'),
  ],
  [
    'sweep <config> [overrides..]',
    'Play many runs of a config, each with other values of some keys, and tell what the keys do',
    () => import('./commands/sweep.js'),
  ],
  ['environments [id]', 'List the environments, or explain one', () => import('./commands/environments.js')],
  [
    'models',
    'List and check local models; compare models as proposers',
    [
      [
        'check [directory]',
        'Explain a model directory: size, memory, context, template, devices, what is missing',
        () => import('./commands/models/check.js'),
      ],
      [
        'list',
        'List the models of Ollama, the Hugging Face cache and LM Studio, and whether they can be run',
        () => import('./commands/models/list.js'),
      ],
      [
        'compare <config> [overrides..]',
        'Let models and baselines propose from the same histories, and show which one improves most often',
        () => import('./commands/models/compare.js'),
      ],
      [
        'pull <model>',
        'Download a model of Hugging Face into its cache',
        () => import('./commands/models/pull.js'),
      ],
      [
        'remove <model>',
        'Remove a model that `models pull` downloaded',
        () => import('./commands/models/remove.js'),
      ],
    ],
  ],
  [
    'doctor',
    'Say what is there and works on this machine, and what to do where it does not',
    () => import('./commands/doctor.js'),
  ],
  [
    'serve',
    'Serve a local model (OpenAI-compatible) or environments (OpenEnv) to programs of this machine',
    () => import('./commands/serve.js'),
  ],
  [
    'mcp',
    'Serve runs, comparisons and checks as tools, by the Model Context Protocol',
    async () => {
      const { execute: mcp, finishing, options } = await import('./commands/mcp.js');
      return {
        ...{ finishing, options },
        execute: (args: Parameters<typeof mcp>[0], given: CommandContext) => mcp(args, given, loadTool),
      };
    },
  ],
  ['finetune', 'Train a local model on logged runs', finetuneCommands],
];

/** A command by its words, with the values of the arguments that are not given. */
export async function loadTool(words: string): Promise<Loaded> {
  const listed = namedCommand(words.split(' '))!;
  const { boolean, default: defaults } = await declaredOptions(listed);
  const flags = boolean.map((name) => [name, false] as const);
  return {
    command: await listed[2](),
    defaults: Object.fromEntries(
      [...flags, ...Object.entries(defaults)].map(([name, value]) => [camelCase(name), value]),
    ),
  };
}

const camelCase = (name: string) => name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The command that the first words name. */
export function namedCommand([first, second]: readonly string[]): ListedCommand | undefined {
  const isNamed = (word: string | undefined) => (listed: readonly [string, ...unknown[]]) =>
    listed[0].split(' ')[0] === word;
  const found = commands.find(isNamed(first));
  if (found === undefined) return undefined;
  const [signature, describe, load] = found;
  return typeof load === 'function' ? [signature, describe, load] : load.find(isNamed(second));
}

/** The options that a command declares. */
export async function declaredOptions([, , load]: ListedCommand): Promise<DeclaredOptions> {
  const declared = (await load()).options(yargs([])) as unknown as { getOptions(): DeclaredOptions };
  return declared.getOptions();
}

/** Kinds of ready configs that a command takes; `run` and all others take experiments. */
const configsOf: Readonly<Record<string, readonly ConfigKindName[]>> = {
  play: ['agents'],
  check: ['experiment', 'rl'],
  collect: ['collection'],
  train: ['training'],
  rl: ['rl'],
};

/**
 * What the last word of a command line may become: a command, an option, the name of a run or of a ready config. Empty
 * where a shell knows better, as for files.
 * @param words behind the program's name, the last of which may be empty
 */
export async function completions(words: readonly string[], cwd: string): Promise<readonly string[]> {
  const current = words.at(-1) ?? '';
  const begun = (all: readonly string[]) => all.filter((text) => text.startsWith(current));
  const namesOf = (listed: readonly (readonly [string, ...unknown[]])[]) =>
    listed.map(([signature]) => signature.split(' ')[0]!);
  if (words.length < 2) return begun([...namesOf(commands), 'completion']);
  const group = commands.find(([name]) => name === words[0])?.[2];
  if (typeof group === 'object' && words.length < 3) return begun(namesOf(group));
  const named = namedCommand(words);
  if (named === undefined) return [];
  const [name, ...places] = named[0].split(' ');
  if (current.startsWith('-')) {
    const { key } = await declaredOptions(named);
    const isPlace = (option: string) => places.some((place) => place.replaceAll(/[^\w-]/g, '') === option);
    return begun(Object.keys(key).flatMap((option) => (isPlace(option) ? [] : [`--${option}`])));
  }
  const before = words.slice(typeof group === 'object' ? 2 : 1, -1);
  const at = before.filter((word, i) => !word.startsWith('-') && !before[i - 1]?.startsWith('--')).length;
  const place = places[at] ?? (places.at(-1)?.includes('..') ? places.at(-1) : undefined);
  if (/^[<[]runs?\b/.test(place ?? '') || before.at(-1) === '--history-from') {
    const { runNames } = await import('./archive/names.js');
    const runsDir = words[words.indexOf('--runs-dir') + 1];
    return begun(
      runNames({ cwd, runsDir: words.includes('--runs-dir') && runsDir ? runsDir : common.runsDir.default }),
    );
  }
  if (/^<configs?\b/.test(place ?? '')) {
    const { bundledConfigs } = await import('./config/file.js');
    return begun((configsOf[name!] ?? ['experiment']).flatMap((kind) => bundledConfigs(kind)));
  }
  return [];
}
